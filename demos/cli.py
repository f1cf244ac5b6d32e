"""The demos' command lines: arguments checked before any work, one-line errors, Ctrl-C.

A demo is a parser, and a function of the parsed arguments:

    def make_parser():
        parser = cli.parser("moons", __doc__)
        parser.add_argument("--points", type=cli.whole(2), default=400)
        return parser

    @cli.command(make_parser)
    def main(args): ...                 # call it as main() or main(["--points", "100"])
"""

from __future__ import annotations

import _thread
import argparse
import difflib
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import demos
import tinygrad_like
from tinygrad_like import distributed, set_num_threads
from tinygrad_like.environment import require
from tinygrad_like.transforms.switches import most_threads

try:
    import fcntl
except ImportError:  # Windows does not have it, so runs there take no locks
    fcntl = None  # type: ignore[assignment]

INTERRUPTED = 130  # a shell's exit status for a program ended by Ctrl-C


def parser(name: str, description: str | None, epilog: str | None = None, draws: bool = False, seeds: int = 0,
           quick: Mapping[str, Any] | None = None) -> argparse.ArgumentParser:
    """A parser for `python -m demos.<name>`, with the options common to all demos, and --out if it draws one picture.

    seeds: the default number of runs. quick: the defaults of options under --quick.
    """
    made = _Parser(prog=f"python -m demos.{name}", description=description, epilog=epilog,
                   allow_abbrev=False, formatter_class=_Formatter)
    made.quick = quick or {}
    made.add_argument("--traceback", action="store_true", help="show where in the program an error came from")
    made.add_argument("--eager", action="store_true", help="run every step in Python, without capture")
    if seeds:
        made.add_argument("--seeds", type=whole(1), default=seeds, help="number of runs, each with its own random seed")
        made.add_argument("--seed", type=whole(), default=0, help="seed of the first run")
    if quick:
        words = " ".join(f"--{k.replace('_', '-')} {' '.join(map(str, v)) if isinstance(v, list) else v}"
                         for k, v in quick.items())
        made.add_argument("--quick", action="store_true",
                          help=f"a short version that shows less than this text says; it sets {words}")
    if draws:
        made.add_argument("--out", type=picture, default=f"runs/{name}.png", help="file for the picture, a PNG")
    return made


class _Parser(argparse.ArgumentParser):
    quick: Mapping[str, Any]

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        if "--quick" in (sys.argv[1:] if args is None else args):
            self.set_defaults(**self.quick)
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the error, once in an MPI job, with options of similar names instead of the usage."""
        meant = [f"; did you mean {near[0]}?" for word in message.split()[2:] if message.startswith("unrecognized")
                 and (near := difflib.get_close_matches(word, self._option_string_actions))]
        distributed.fail(f"{self.prog}: error: {message}{''.join(meant)}\n{self.prog} --help lists the options", 2)
        raise SystemExit(2)


class _Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Adds the default unless the help mentions it, and takes the name of a value from its type."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False or "(default" in (action.help or ""):
            return action.help
        if isinstance(action.default, list):  # as a user would type it
            return f"{action.help} (default: {' '.join(map(str, action.default))})"
        return super()._get_help_string(action)

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        return getattr(action.type, "metavar", None) or super()._get_default_metavar_for_optional(action)


def command(make_parser: Callable[[], argparse.ArgumentParser],
            parse: Callable[[Sequence[str] | None], argparse.Namespace] | None = None, ranks: bool = False) -> Callable:
    """Turn a function of parsed arguments into a program that reports errors in one line.

    parse: reads the arguments instead of the parser's `parse_args`. ranks: whether the program can run on several ranks
    of an MPI job; only rank 0 prints.
    """
    def wrap(run: Callable[[argparse.Namespace], Any]) -> Callable[..., Any]:
        @wraps(run)
        def main(argv: Sequence[str] | None = None) -> Any:
            reader, traceback = make_parser(), "--traceback" in (sys.argv if argv is None else argv)
            try:
                if signal.getsignal(signal.SIGINT) is demos.interrupted:
                    sys.unraisablehook = _again
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                with _one_voice():
                    if distributed.size > 1 and not ranks:
                        raise ValueError(f"{reader.prog} runs as one process, not on several MPI ranks")
                    args = parse(argv) if parse is not None else reader.parse_args(argv)
                    require(reader.prog, "matplotlib", "PIL", "tqdm", project=".")
                    if getattr(args, "threads", None) is not None:
                        set_num_threads(args.threads)
                    with tinygrad_like.eager() if args.eager else nullcontext():
                        return run(args)
            except argparse.ArgumentError as error:
                reader.error(str(error))
            except KeyboardInterrupt as stop:
                if argv is None:  # the program ends here: another Ctrl-C must not interrupt the exit
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
                distributed.fail("\ninterrupted" + f": {stop}" * bool(str(stop)), INTERRUPTED)
                raise SystemExit(INTERRUPTED) from None
            except BrokenPipeError:  # for instance from `| head`
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the flush at exit fails too
                distributed.fail(lambda: None)
                raise SystemExit(1) from None
            except (ArithmeticError, ImportError, MemoryError, OSError, ValueError) as error:
                if traceback:
                    raise
                text = f"error: {_in_words(error)}"
                if distributed.size == 1:
                    raise SystemExit(text) from None
                distributed.fail(text)
                raise SystemExit(1) from None

        return main

    return wrap


def _again(unraisable: Any) -> None:
    """Interrupt again after Ctrl-C in a callback, such as a weak reference's: Python only prints that one."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(0.02, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


@contextmanager
def _one_voice() -> Iterator[None]:
    """Print only on rank 0."""
    if distributed.rank == 0:
        yield
        return
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def refuse(option: str, message: str) -> NoReturn:
    """Report an argument as argparse does; for one that conflicts with other arguments or the data."""
    raise argparse.ArgumentError(None, f"argument {option}: {message}")


def _in_words(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "out of memory" + f" ({error})" * bool(str(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


# Types of arguments ---------------------------------------------------------------------------------------------------


def whole(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """A whole number from `least` to `most`."""
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"must be a whole number {bounds}, not {text!r}")
        return int(text)

    read.metavar = "N"  # type: ignore[attr-defined]
    return read


def number(*, above: float = -math.inf, least: float = -math.inf, below: float = math.inf,
           most: float = math.inf) -> Callable[[str], float]:
    """A finite number within these bounds."""
    words = [f"{word} {bound:g}" for word, bound in (("above", above), ("at least", least), ("below", below),
                                                     ("at most", most)) if math.isfinite(bound)]

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and above < value < below and least <= value <= most):
            raise argparse.ArgumentTypeError(f"must be a number {' and '.join(words)}, not {text!r}")
        return value

    read.metavar = "X"  # type: ignore[attr-defined]
    return read


RATE = number(above=0, most=10)  # larger learning rates make weights overflow in a few steps
RATE.metavar = "RATE"  # type: ignore[attr-defined]


def thread_count(text: str) -> int:
    return whole(1, most_threads())(text)


def file(text: str) -> Path:
    """A file to be read."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return Path(text)


def folder(text: str) -> Path:
    """A folder that exists or can be created."""
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a folder, but {text!r} is a file")
    _writable(path)
    return path


folder.metavar = "DIR"  # type: ignore[attr-defined]


def picture(text: str) -> Path:
    """A PNG file to be written."""
    path = Path(text)
    if path.suffix.lower() != ".png" or path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file whose name ends in .png, not {text!r}")
    _writable(path.parent)
    return path


picture.metavar = "FILE.png"  # type: ignore[attr-defined]


def _writable(path: Path) -> None:
    """Check that the missing folders of the path can be created."""
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{str(there)!r} is a file, so {str(path)!r} cannot be a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"no permission to write in {str(there)!r}")


# Runs -----------------------------------------------------------------------------------------------------------------


def need_checkpoint(resume: object, path: Path) -> None:
    """Refuse --resume if there is no checkpoint to resume."""
    if resume and not path.exists():
        refuse("--resume", f"there is no checkpoint {path}; start without --resume")


@contextmanager
def claim(paths: Sequence[Path], resumed: bool = False) -> Iterator[None]:
    """Hold path.lock for each path, so that only one program at a time writes path.csv, path.ckpt and so on.

    Ctrl-C prints how to resume. resumed: existing checkpoints belong to this run. In an MPI job only rank 0 has locks.
    Raises ValueError if another program has a lock. The system releases the locks of a killed program.
    """
    checkpoints = [path.with_suffix(".ckpt") for path in paths]
    before = [None if resumed else _version(checkpoint) for checkpoint in checkpoints]
    with ExitStack() as stack:
        for path in [] if distributed.rank else paths:
            stack.enter_context(_locked(path.with_suffix(".lock"), path))
        try:
            yield
        except KeyboardInterrupt:
            saved = [checkpoint for checkpoint, old in zip(checkpoints, before, strict=True)
                     if _version(checkpoint) not in (None, old)]
            raise KeyboardInterrupt(f"{saved[-1]} is saved; to continue, run the same command with --resume" if saved
                                    else "nothing had been saved yet; start again") from None


@contextmanager
def _locked(lock: Path, path: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise ValueError(f"another run, process {file.read().strip()}, is writing {path}.*; wait for it, or "
                                 "use another --out") from None
            try:
                mine = os.path.samestat(os.fstat(file.fileno()), lock.stat())
            except FileNotFoundError:
                mine = False
            if not mine:  # its owner removed it after we had opened it and before we locked it
                continue
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            try:
                yield
            finally:
                lock.unlink()
            return


def _version(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_ino


def progress(**options: Any) -> Any:
    """tqdm's bar, on a terminal only."""
    from tqdm import tqdm

    return tqdm(leave=False, disable=None, **options)
