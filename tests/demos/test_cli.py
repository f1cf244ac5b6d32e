"""The demos' command line: arguments, one-line messages, Ctrl-C, locks, and missing extras."""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from demos import cli

ROOT = Path(__file__).resolve().parents[2]
DEMOS = sorted(p.stem for p in (ROOT / "demos").glob("*.py") if "__main__" in p.read_text())
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


def program(run, **types):
    def make_parser():
        parser = cli.parser("test", "A test.")
        for name, kind in types.items():
            parser.add_argument(f"--{name}", type=kind)
        return parser

    return cli.command(make_parser)(run)


@pytest.mark.parametrize("kind, good, bad, message", [
    (cli.whole(1), ["1", "12"], ["0", "-1", "1.5", "x", ""], "must be a whole number of at least 1, not "),
    (cli.whole(1, 3), ["1", "3"], ["0", "4"], "must be a whole number from 1 to 3, not "),
    (cli.number(above=0, most=10), ["10", "1e-9"], ["0", "11", "nan", "inf", "x"], "a number above 0 and at most 10"),
    (cli.number(least=0, below=1), ["0", "0.9"], ["1", "-0.1"], "a number at least 0 and below 1, not "),
])
def test_number_arguments_have_limits(kind, good, bad, message):
    assert [kind(text) for text in good] == [float(text) for text in good]
    for text in bad:
        with pytest.raises(argparse.ArgumentTypeError, match=message):
            kind(text)


def test_file_and_folder_arguments_are_checked(tmp_path):
    (tmp_path / "f").write_text("")
    assert cli.file(str(tmp_path / "f")) == tmp_path / "f"
    assert cli.folder(str(tmp_path / "new" / "er")) == tmp_path / "new" / "er"
    assert cli.picture(str(tmp_path / "new" / "p.png")) == tmp_path / "new" / "p.png"
    for kind, path, message in ((cli.file, "g", "there is no file"), (cli.folder, "f", "must be a folder"),
                                (cli.folder, "f/g", "is a file, so .*f/g' cannot be a folder"),
                                (cli.picture, "p.pdf", "ends in .png"), (cli.picture, "f/p.png", "is a file, so")):
        with pytest.raises(argparse.ArgumentTypeError, match=message):
            kind(str(tmp_path / path))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("error, message", [
    (ValueError("wrong"), "error: wrong"), (OSError(28, "No space left on device", "x.csv"), "error: x.csv: No space"),
    (MemoryError(), "error: out of memory"), (FloatingPointError("nan"), "error: nan"),
])
def test_errors_are_one_line_unless_traceback_is_passed(error, message):
    def run(args):
        raise error

    with pytest.raises(SystemExit, match=message):
        program(run)([])
    with pytest.raises(type(error)):
        program(run)(["--traceback"])


def test_a_mistake_in_the_program_keeps_its_traceback():
    with pytest.raises(TypeError):
        program(lambda args: len(3))([])


def test_refused_arguments_look_like_argparses(capsys):
    with pytest.raises(SystemExit) as stop:
        program(lambda args: cli.refuse("--x", "is too large"))([])
    lists = "\npython -m demos.test --help lists the options\n"
    assert stop.value.code == 2 and capsys.readouterr().err.endswith(f"error: argument --x: is too large{lists}")
    with pytest.raises(SystemExit):
        program(lambda args: None, epochs=int)(["--epohcs", "3"])
    assert capsys.readouterr().err.endswith(f"arguments: --epohcs 3; did you mean --epochs?{lists}")


def test_only_one_run_writes_to_a_path(tmp_path):
    path = tmp_path / "new" / "mlp"
    with cli.claim([path]):
        with pytest.raises(ValueError, match=rf"another run, process {os.getpid()}, is writing .*mlp\.\*"):
            with cli.claim([path]):
                pass
        with cli.claim([tmp_path / "new" / "other"]):
            pass
    with cli.claim([path]):  # a killed run's lock keeps no one out either
        pass
    assert not list((tmp_path / "new").iterdir())
    path.with_suffix(".lock").write_text("1\n")
    with cli.claim([path]):
        pass


def test_an_interrupted_run_says_how_to_continue(tmp_path, capsys):
    def run(args):
        with cli.claim([tmp_path / "a", tmp_path / "b"], args.resume is not None):
            if args.save is not None:
                (tmp_path / f"{args.save}.ckpt").write_text("x")
            raise KeyboardInterrupt

    for options, message in (([], "nothing had been saved yet"), (["--save", "a"], "a.ckpt is saved; to continue"),
                             ([], "nothing had been saved yet"), (["--resume", "1"], "a.ckpt is saved"),
                             (["--save", "b"], "b.ckpt is saved")):
        with pytest.raises(SystemExit) as stop:
            program(run, save=str, resume=str)(options)
        printed = capsys.readouterr().err
        assert stop.value.code == 130 and message in printed and len(printed.strip().splitlines()) == 1


def test_all_demos_are_listed():
    listed = subprocess.run([sys.executable, "-m", "demos"], env=ENV, capture_output=True, text=True, check=True).stdout
    assert [line.split()[2] for line in listed.splitlines()[:-1]] == [f"demos.{demo}" for demo in DEMOS]


NO_EXTRAS = """
import runpy, sys
for name in ("matplotlib", "PIL", "tqdm", "safetensors", "tensorboardX"):
    sys.modules[name] = None
options, folder, demos = sys.argv[1].split(), sys.argv[2], sys.argv[3:]
for demo in demos:
    sys.argv = [demo, *options]
    try:
        if options:  # as `python demos/train.py --help` runs it
            runpy.run_path(f"{folder}/{demo}.py", run_name="__main__")
        else:
            runpy.run_module(f"demos.{demo}", run_name="__main__", alter_sys=True)
        print("ended well")
    except SystemExit as stop:
        print("ended with", stop.code)
"""


def test_without_the_extras_help_works_and_demos_say_what_is_missing(tmp_path):
    rest = [demo for demo in DEMOS if demo != "predict"]  # it wants images
    helps, missing = (subprocess.run(
        [sys.executable, "-c", NO_EXTRAS, options, ROOT / "demos", *demos], env=ENV, cwd=tmp_path, capture_output=True,
        text=True, check=True).stdout for options, demos in (("--help", DEMOS), ("", rest)))
    assert helps.count("usage: python -m demos.") == len(DEMOS) == helps.count("ended with 0\n")
    lines = [f"ended with error: python -m demos.{demo} needs matplotlib, pillow, tqdm: pip install '.[pictures]'"
             for demo in rest]
    assert missing.splitlines() == lines
    assert not list(tmp_path.iterdir())


def interrupted(options, ready, cwd, presses=1):
    """Start a demo, send Ctrl-C once its output is `ready`; return its exit code and output."""
    with (cwd / "printed").open("w+") as printed:
        process = subprocess.Popen([sys.executable, "-u", "-m", *options], cwd=cwd, env=ENV, stdout=printed,
                                   stderr=subprocess.STDOUT)
        try:
            end = time.monotonic() + 120
            while not ready((cwd / "printed").read_text()):
                assert process.poll() is None and time.monotonic() < end, (cwd / "printed").read_text()
                time.sleep(0.01)
            for _ in range(presses):
                process.send_signal(signal.SIGINT)
                time.sleep(0.05)
            return process.wait(120), (cwd / "printed").read_text()
        finally:
            process.kill()


LOST = """
import os, signal, sys
sys.argv = ["-m"]
import demos

class Object:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

Object()
print("goes on")
"""


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_ctrl_c_ends_the_program_even_in_a_destructor():
    ended = subprocess.run([sys.executable, "-c", LOST], env=ENV, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "\ninterrupted before the run began\n"


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_ctrl_c_waits_until_matplotlib_is_imported(monkeypatch):
    """A half imported compiled module makes Python crash at exit."""
    pytest.importorskip("matplotlib")
    from demos import figures

    imported = []
    monkeypatch.setattr(figures, "import_module", lambda name: (imported.append(name), os.kill(os.getpid(),
                                                                                               signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        figures.figure(3, 2)
    assert imported[0] == "matplotlib.backends.backend_agg" and imported[-1] == "PIL.PngImagePlugin"


RUN = ["demos.train", "--model", "mlp", "--epochs", "30"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("moment, presses", [("import", 1), ("an epoch", 2)])
def test_ctrl_c_saves_and_says_how_to_continue(tmp_path, moment, presses):
    pytest.importorskip("matplotlib")
    ready = {"import": lambda text: time.sleep(0.3) or True, "an epoch": lambda text: text.count("\n") > 6}[moment]
    code, printed = interrupted([*RUN, "--out", "run"], ready, tmp_path, presses)
    assert code == 130 and "Traceback" not in printed
    last = printed.strip().splitlines()[-1]
    assert last.startswith("interrupted") and printed.count("interrupted") == 1
    saved = (tmp_path / "run" / "mlp_digits_split0.ckpt").exists()
    assert ("run/mlp_digits_split0.ckpt is saved; to continue, run the same command with --resume" in last) == saved
    assert not list(tmp_path.glob("run/*.lock"))
    assert saved or moment != "an epoch"
