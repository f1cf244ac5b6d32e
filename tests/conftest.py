import gc
import importlib.util
import re
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tinygrad_like
from tinygrad_like import manual_seed, rings

ROOT = Path(__file__).resolve().parents[1]
ABSENT = {name for name in rings.RINGS if rings.missing(name)}

# Tests of missing rings: see rings.py ----------------------------------------------------------------------------


class Absent:
    """A public name whose ring is missing. A test module may import it; a test that uses it belongs to the ring and is
    skipped."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *inputs, **options):
        pytest.skip(f"needs tinygrad_like.{self.name}", allow_module_level=True)

    def __getattr__(self, name):
        if name.startswith(("_", "pytest")):  # pytest asks whether it is a test
            raise AttributeError(name)
        return self()


vars(tinygrad_like).update({name: Absent(name) for name, place in rings.NAMES.items() if rings.missing(place)})


def needs(error):
    """The missing ring that a test itself asked for, or "" if the tested code asked: then the test fails."""
    found = re.search(r"tinygrad_like\.(\w+)(?:, which .*)? is not installed here", str(error))
    files, place = [], error.__traceback__
    while place is not None:
        files.append(Path(place.tb_frame.f_code.co_filename))
        place = place.tb_next
    parts = [file.relative_to(ROOT).parts for file in files if file.is_relative_to(ROOT)]
    asking = [part for part in parts if part not in (("tinygrad_like", "rings.py"), ("tinygrad_like", "__init__.py"))]
    if not asking or asking[-1][0] in ("nn", "optim") or asking[-1][0] == "tinygrad_like" and not (
            found and found[1] in rings.RINGS.get(asking[-1][1], ())):
        return ""
    return found[1] if found else "compat" if type(error) is AttributeError and "compat" in ABSENT else ""


class Module(pytest.Module):
    def _getobj(self):
        try:
            return super()._getobj()
        except (self.CollectError, AttributeError) as error:
            if ring := needs(error.__cause__ or error):
                pytest.skip(f"needs tinygrad_like.{ring}", allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path, parent):
    return Module.from_parent(parent, path=module_path) if ABSENT else None


def pytest_ignore_collect(collection_path):
    """tests/<ring> holds the tests of a ring."""
    return collection_path.name in ABSENT and collection_path.parent == ROOT / "tests" or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for ring in ABSENT & {*mark.args}:
            pytest.skip(f"needs tinygrad_like.{ring}")
    return (yield from _unless_absent())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _unless_absent())


def _unless_absent():
    try:
        return (yield)
    except (ImportError, AttributeError) as error:
        if ring := needs(error):
            pytest.skip(f"needs tinygrad_like.{ring}")
        raise


def pytest_addoption(parser):
    parser.addoption("--share", help="i/n/m: of every m-th test function the first case and every n-th other")


@pytest.hookimpl(trylast=True)  # when marks have chosen
def pytest_collection_modifyitems(config, items):
    if share := config.getoption("share"):
        i, n, m = map(int, share.split("/"))
        seen, chosen, others = set(), [], []
        for item in items:
            function = item.nodeid.partition("[")[0]
            if zlib.crc32(function.encode()) % m == i % m and (
                    function not in seen or zlib.crc32(item.nodeid.encode()) % n == i):
                chosen.append(item)
            else:
                others.append(item)
            seen.add(function)
        items[:] = chosen
        config.hook.pytest_deselected(items=others)


# Otherwise the garbage collector visits thousands of tests again and again.


def pytest_configure(config):
    gc.disable()


def pytest_collection_finish(session):
    gc.collect()
    gc.freeze()
    gc.enable()


# For all tests -------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts with the same random state."""
    manual_seed(0)


@pytest.fixture(autouse=True)
def rejected(request, monkeypatch):
    """Fail a test in which compiled code is rejected since its numbers differ from Python's, unless it is marked
    `rejected`. Nothing else would show it but a lower speed."""
    if rings.missing("capture"):
        yield
        return
    from tinygrad_like.capture.program import ROUNDING, Program

    found, differs = {}, Program.differs

    def noting(program, *arguments):
        wrong = differs(program, *arguments)
        if wrong not in ("", ROUNDING):  # if a program that is not fused differs too, steps are missing
            found[id(program.tape)] = wrong if program.fuse else ""
        return wrong

    def replaying(program, given, replay=Program.replay):
        try:
            replay(program, given)
        except (AttributeError, KeyError, NameError, TypeError) as error:  # Python would run the call, without a word
            broken.append(error)
            raise

    monkeypatch.setattr(Program, "differs", noting)
    monkeypatch.setattr(Program, "replay", replaying)
    broken = []
    yield
    assert not broken
    found = [*filter(None, found.values())]
    assert not found or request.node.get_closest_marker("rejected"), f"compiled code gave other numbers, in {found}"


@pytest.fixture
def in_threads():
    """Call a function of the thread's number in `count` threads, which switch as often as possible."""
    def run(work, count=4):
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(count) as pool:
                list(pool.map(work, range(count)))
        finally:
            sys.setswitchinterval(interval)

    return run


@pytest.fixture(scope="session")
def torchvision():
    """torchvision, or None. One for CUDA also works with PyTorch for the CPU. Transformers imports it, too."""
    if importlib.util.find_spec("torchvision") is None:
        return None
    try:
        import torchvision.models
    except RuntimeError:  # its kernels cannot be loaded, so their names are unknown
        import torch

        for module in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for kernel in "nms", "qnms":
            library.define(f"{kernel}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision.models

        torchvision.kernels = library  # keeps the library alive
    return torchvision
