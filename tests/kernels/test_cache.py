"""Compiled kernels on disk: damaged files, killed processes, folders that cannot be written."""

import gc
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tinygrad_like
from tinygrad_like import environment
from tinygrad_like.kernels import cache, machine, ship

ADDED = """
import json
import numpy as np
from tinygrad_like.kernels import formula
y = np.ones(2, np.float32)
formula._accumulate(y, np.full(2, 0.5, np.float32))
print(json.dumps([float(y[1]), int(formula._accumulate.entry.found)]))
"""


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Makes the kernel `double` as a new process would, in a cache that is empty at first."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "kept", True)
    return lambda function=double: cache.compiled()(function)


def warnings(text):
    """The lines of standard error without the progress messages of slow compilations."""
    return [line for line in text.splitlines() if not line.startswith("compiling ")]


def kernels(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def program(code, folder, timeout=120, **environment):
    """Run Python with its own home and no NUMBA_CACHE_DIR; return its output, and its warnings."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    root = str(Path(tinygrad_like.__file__).parents[1])
    kept |= {"PYTHONPATH": root, "HOME": str(folder), "LOCALAPPDATA": str(folder), **environment}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=timeout,
                          env=kept)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), warnings(done.stderr)


def test_a_kernel_is_compiled_once(start, tmp_path):
    for found in (False, True):
        for function, result in ((double, -6), (triple, -9)):
            kernel = start(function)
            assert kernel(-3) == result and kernel.found == found and kernel(-1) == result / 3
    files = kernels(tmp_path)
    assert len(files) == 2 and {path.suffix for path in files} == {".kernel"}


@pytest.mark.skipif(environment.fcntl is None, reason="needs file locks")
def test_one_of_two_processes_compiles_while_the_other_waits(tmp_path):
    with ThreadPoolExecutor() as pool:
        found = [json.loads(shown)[1] for shown, _ in pool.map(lambda _: program(ADDED, tmp_path), range(2))]
    assert sorted(found) == [0, 1]


def test_python_calls_a_kernel_with_integers_only(start):
    kernel = start()
    with pytest.raises(TypeError):
        kernel("3")
    with pytest.raises(TypeError):
        kernel(3, 4)
    with pytest.raises(OverflowError):
        kernel(2**70)
    assert kernel(np.int64(3)) == 6


def test_a_kernel_out_of_memory_raises(start):
    def much(x):
        return np.empty(x).size

    kernel = start(much)
    assert kernel(3) == 3
    with pytest.raises(MemoryError, match="a kernel ran out of memory"):
        kernel(2**60)


def test_code_linked_by_llvm_returns_the_same(start, tmp_path, monkeypatch):
    """As on systems for which we have no linker of our own."""
    monkeypatch.setattr(machine, "_LINKED", False)
    machine.compiler.cache_clear()
    try:
        for found in (False, True):
            kernel = start(lambda x: np.arange(x).sum())
            assert kernel(4) == 6 and kernel.found == found
    finally:
        machine.compiler.cache_clear()


def test_ctrl_c_waits_until_a_kernel_is_compiled_or_loaded(start, tmp_path, monkeypatch):
    load = cache.load

    def press(*args):
        signal.raise_signal(signal.SIGINT)
        return load(*args)

    for found in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(cache, "load", press)
            kernel = start()
            with pytest.raises(KeyboardInterrupt):
                kernel(3)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert len(kernels(tmp_path)) == 1 and kernel.found == found and kernel(3) == 6


def test_the_users_handler_gets_every_ctrl_c(start, monkeypatch):
    pressed, seen = [], []
    monkeypatch.setattr(cache, "load", lambda *args: [signal.raise_signal(signal.SIGINT), seen.append(len(pressed)),
                                                      None][-1])
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        assert start()(3) == 6 and start(triple)(1) == 3
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT] * 4 and seen == [0, 0, 2, 2]  # each kernel tries to load twice


def test_a_wheels_kernel_is_used_if_undamaged(start, tmp_path, monkeypatch):
    start()(3)
    (path,) = kernels(tmp_path)
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "shipped")
    cache.SHIPPED.mkdir()
    shipped = path.rename(cache.SHIPPED / path.name)
    kernel = start()
    assert kernel(3) == 6 and kernel.found and kernels(tmp_path) == [shipped]
    shipped.write_bytes(shipped.read_bytes()[:-1])
    kernel = start()
    assert kernel(3) == 6 and not kernel.found and kernels(tmp_path) == sorted([path, shipped])


def test_kernels_on_disk_run_without_numba_and_llvm(tmp_path):
    asked = "import sys; print('numba' in sys.modules, 'llvmlite.binding' in sys.modules);print("
    code = ADDED.replace("print(", asked)
    assert program(code, tmp_path)[0].startswith("True True")
    if sys.platform == "linux" and machine._LINKED and machine.levels():
        assert program(code, tmp_path)[0].startswith("False False")


def test_kernels_are_compiled_for_a_level_that_the_processor_supports(monkeypatch):
    if "NUMBA_CPU_NAME" not in os.environ:
        assert machine.levels()[:1] in ([], [machine.CPU])
    monkeypatch.setattr(np._core._multiarray_umath, "__cpu_features__", {"X86_V3": True, "X86_V4": False})
    assert machine.levels() == ["x86-64-v3"]
    monkeypatch.setattr(np._core._multiarray_umath, "__cpu_features__", {})  # an older NumPy does not say
    has = dict.fromkeys(machine.LEVELS["x86-64-v4"], True)
    monkeypatch.setattr(machine.llvm.real, "get_host_cpu_features", lambda: has)
    assert machine.levels() == ["x86-64-v4", "x86-64-v3"]
    has["avx512vl"] = False
    assert machine.levels() == ["x86-64-v3"]
    del has["fma"]
    assert machine.levels() == []


def test_a_wheel_contains_the_kernels_of_ops_formulas_and_losses():
    gc.unfreeze()  # conftest.py froze them, and `declared` looks through all objects
    names = [name.removeprefix("tinygrad_like.kernels.") for name, _ in ship.declared()]
    gc.freeze()
    for name in ("gemm._matrix_product", "formula.gelu_each", "formula.mse_loss_each", "optim.adam_",
                 "program._run_calls"):
        assert any(found.startswith(name) for found in names), name


@pytest.mark.parametrize("damage", [
    lambda content: b"",
    lambda content: content[:1],
    lambda content: content[:40],
    lambda content: content[:-1],
    lambda content: content + b"\0",
    lambda content: bytes(len(content)),
    lambda content: b"garbage" * 1000,
    lambda content: pickle.dumps(content),
], ids=["empty", "1 byte", "40 bytes", "cut", "longer", "zeros", "garbage", "pickle"])
def test_a_damaged_file_is_compiled_again(start, tmp_path, damage):
    start()(3)
    (path,) = kernels(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    for found in (False, True):
        kernel = start()
        assert kernel(3) == 6 and kernel.found == found
    assert kernels(tmp_path) == [path]


def test_a_file_with_a_flipped_bit_is_not_loaded(start, tmp_path):
    kernel = start()
    kernel(3)
    (path,), key = kernels(tmp_path), kernel.key()
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    assert cache.load(path, key) is not None
    for position in [*range(100), *rng.integers(0, len(whole), 200)]:
        path.write_bytes(whole[:position] + bytes([whole[position] ^ (1 << rng.integers(8))]) + whole[position + 1:])
        assert cache.load(path, key) is None


def test_a_file_of_another_function_or_of_other_sources_is_not_used(start, tmp_path, monkeypatch):
    start()(3)
    (first,) = kernels(tmp_path)
    start(triple)(3)
    (second,) = {*kernels(tmp_path)} - {first}
    shutil.copy(second, first)  # as if one process had written under another's name
    for change in (None, ("sources", lambda file: bytes(32)), ("COMPILER", ("0.1",))):
        if change:
            monkeypatch.setattr(cache, *change)
        kernel = start()
        assert kernel(3) == 6 and not kernel.found


@pytest.mark.parametrize("call", ["write_bytes", "replace"])
def test_a_full_disk_is_reported_once_and_stops_nothing(start, tmp_path, monkeypatch, capfd, call):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((Path, call) if call == "write_bytes" else (os, call)), full)
    assert start()(3) == 6 and start(triple)(3) == 9
    (said,) = warnings(capfd.readouterr().err)
    assert said.startswith("compiled kernels cannot be kept: ") and "No space left" in said
    assert kernels(tmp_path) == []


def test_an_edit_changes_the_hash_of_files_that_import_it_and_of_no_others(tmp_path, monkeypatch):
    for path in cache._HERE.glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(cache, "_HERE", tmp_path)

    def sources():
        cache._imports.cache_clear()
        cache._hash.cache_clear()
        return {path.stem: cache.sources(path) for path in tmp_path.glob("*.py")}

    try:
        before = sources()
        for edited, outside in ("program", {"softmax", "gemm"}), ("reduce", {"program", "copies"}), ("record", set()):
            (tmp_path / f"{edited}.py").write_bytes((tmp_path / f"{edited}.py").read_bytes() + b"\n")
            after = sources()
            same = {name for name in before if before[name] == after[name]}
            assert edited not in same and outside <= same and ("softmax" not in same or edited == "program")
            before = after
    finally:
        cache._imports.cache_clear()
        cache._hash.cache_clear()


def test_the_users_kernels_are_compiled_again_when_their_file_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    text = (tmp_path / "mine.py").write_text
    for factor in (2, 2, 3):
        text(f"""
import numpy as np
from tinygrad_like.kernels.kinds import READ, WRITE
from tinygrad_like.kernels.program import kernel

@kernel(x=READ, y=WRITE, cost=0.06)
def _times(x, y, task, tasks):
    for i in range(task * x.size // tasks, (task + 1) * x.size // tasks):
        y[i] = {factor} * x[i]

y = np.empty(1, np.float32)
_times(np.ones(1, np.float32), y)
""")
        names = {}
        code = compile((tmp_path / "mine.py").read_text(), str(tmp_path / "mine.py"), "exec")
        exec(code, names)
        assert names["y"] == factor
    files = [path for path in kernels(tmp_path / "cache") if path.name.startswith("mine._times")]
    assert len(files) == 2


def test_kernels_lie_in_the_users_cache_folder_not_beside_the_sources(tmp_path):
    """Beside the sources they would outlive the package's removal, and the folder would pass for the package."""
    for hits in (0, 1):
        assert program(ADDED, tmp_path) == (f"[1.5, {hits}]", [])
    (folder,) = {path.parent for path in kernels(tmp_path) if path.suffix == ".kernel"}
    assert folder == cache_folder("kernels", tmp_path)


def cache_folder(name, home):
    place = {"win32": "", "darwin": "Library/Caches"}.get(sys.platform, ".cache")
    return home / place / "tinygrad_like" / name


@pytest.fixture
def no_folder_known():
    """The process forgets its cache folder, before and after."""
    cache._folder.cache_clear()
    yield
    cache._folder.cache_clear()


def test_the_folder_may_be_chosen(tmp_path, monkeypatch, no_folder_known):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert cache.folder() == tmp_path / "tinygrad_like" / "kernels"
    if sys.platform not in ("win32", "darwin"):
        monkeypatch.setenv("NUMBA_CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache.folder().parents[1] == tmp_path / "xdg"


def test_kernels_unused_for_long_are_deleted(start, tmp_path, monkeypatch):
    start()(3)
    folder = cache.folder()
    old, used, stray = folder / "old.kernel", folder / "used.kernel", folder / "killed.1.new"
    for path in (old, used, stray):
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    cache.keep(used, b"code")
    os.utime(used, (0, 0))
    assert cache.read(used) == b"code"  # this marks it as used
    monkeypatch.setattr(cache, "_tidied", set())
    start(triple)(3)
    left = kernels(folder)
    assert used in left and old not in left and stray not in left and len(left) == 3 and cache._tidied == {folder}


def test_the_latest_versions_of_a_kernel_and_those_of_the_last_day_stay(tmp_path):
    versions = [tmp_path / f"a.f-{i}.kernel" for i in range(2 * cache.VERSIONS)]
    other = tmp_path / "a.g-0.kernel"
    for days, left in ((2, {other, *versions[-cache.VERSIONS :]}), (0.5, {other, *versions})):
        for i, path in enumerate([other, *versions]):
            path.write_bytes(b"")
            used = time.time() - days * cache.DAY + i
            os.utime(path, (used, used))
        cache.tidy(tmp_path)
        assert {*kernels(tmp_path)} == left


def test_a_run_whose_folder_is_deleted_compiles_again(start, tmp_path, capfd):
    kernel = start()
    kernel(3)
    shutil.rmtree(tmp_path)
    assert kernel(3) == 6 and start(triple)(3) == 9 and start()(3) == 6
    assert len(kernels(tmp_path)) == 2 and warnings(capfd.readouterr().err) == []


def test_kernels_are_read_from_a_read_only_folder(start, tmp_path, monkeypatch, capfd):
    start()(3)

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    for owner, name in (os, "utime"), (os, "replace"), (Path, "mkdir"), (Path, "write_bytes"):
        monkeypatch.setattr(owner, name, refuse)
    kernel = start()
    assert kernel(3) == 6 and kernel.found and warnings(capfd.readouterr().err) == []


@pytest.mark.parametrize("environment", [
    {"NUMBA_CACHE_DIR": f"{os.devnull}/cache"},
    {"HOME": os.devnull, "XDG_CACHE_HOME": f"{os.devnull}/cache", "LOCALAPPDATA": os.devnull},
], ids=["NUMBA_CACHE_DIR", "home"])
def test_without_a_folder_kernels_run_and_one_line_says_so(tmp_path, environment):
    out, said = program(ADDED, tmp_path, **environment)
    assert out == "[1.5, 0]" and kernels(tmp_path) == []
    (line,) = said
    assert line.startswith("compiled kernels cannot be kept: ") and os.devnull in line
    assert line.endswith("; NUMBA_CACHE_DIR can name a folder")


def test_a_user_without_a_home_directory_is_warned_once(monkeypatch, capfd, no_folder_known):
    def nowhere(name):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(cache, "kept", True)
    monkeypatch.setattr(cache, "cache_folder", nowhere)
    assert cache.compiled()(double)(3) == 6 and cache.compiled()(triple)(3) == 9
    (said,) = warnings(capfd.readouterr().err)
    assert said.startswith("compiled kernels cannot be kept: Could not determine home directory.; NUMBA_CACHE_DIR")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_simultaneous_starts_and_kills_leave_a_working_cache(tmp_path, python):
    """TINYGRAD_LIKE_KILLS: how many times four processes start with an empty cache and one is killed."""
    rng = np.random.default_rng(0)
    for i in range(int(os.environ.get("TINYGRAD_LIKE_KILLS", 1))):
        folder = tmp_path / str(i)
        environment = {**os.environ, "PYTHONPATH": str(Path(tinygrad_like.__file__).parents[1]),
                       "NUMBA_CACHE_DIR": str(folder)}
        processes = [subprocess.Popen([sys.executable, "-c", ADDED], env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) for _ in range(4)]
        while not folder.exists():
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 1.5))
        processes[0].kill()
        for process in processes:
            out, err = process.communicate(timeout=120)
            assert process is processes[0] or (process.returncode == 0 and out.startswith("[1.5, ")), err
        assert python(ADDED, NUMBA_CACHE_DIR=str(folder)) == [1.5, 1]
