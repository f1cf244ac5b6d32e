"""Weights and checkpoints are restored exactly, damage is noticed, and a killed run loses nothing."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import nn
import optim
import tinygrad_like
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.training import (
    EarlyStopping,
    checkpoint,
    load_checkpoint,
    load_weights,
    previous,
    read_metadata,
    save_checkpoint,
    save_weights,
)

files = pytest.importorskip("safetensors.numpy")
ROOT = Path(__file__).parents[2]


class Model(nn.Module):
    def __init__(self):
        self.a = nn.Linear(3, 2)
        self.b = nn.Linear(3, 2)
        self.b.weight = self.a.weight
        self.register_buffer("count", Tensor([3]))
        self.register_buffer("transposed", Tensor.arange(6).reshape(2, 3).T)


def values(module):
    return {name: t.numpy().copy() for name, t in module.state_dict().items()}


def equal(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[n], b[n]) and a[n].dtype == b[n].dtype for n in a)


# Weights ------------------------------------------------------------------------------------------------------------


def test_saved_weights_are_restored(tmp_path):
    first, second = Model(), Model()
    second.transposed.assign(np.zeros((3, 2), int))
    save_weights(first, tmp_path / "new" / "model.safetensors", {"classes": "2"})
    assert load_weights(second, tmp_path / "new" / "model.safetensors") == ([], [])
    assert equal(values(first), values(second))
    assert read_metadata(tmp_path / "new" / "model.safetensors") == {"classes": "2", "b.weight": "a.weight"}
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["model.safetensors"]


class Shared(nn.Module):
    """Tied weights, weights that only share memory, and a view of another's memory."""

    def __init__(self, tied=True):
        self.head, self.embedding, self.twin, self.part = (nn.Linear(3, 4, bias=False) for _ in range(4))
        if tied:
            self.head.weight = self.embedding.weight
            self.twin.weight.data = self.embedding.weight.detach()
            self.part.weight.data = self.embedding.weight.detach()[:2]


def test_tied_weights_are_written_once_and_loaded_everywhere(tmp_path):
    model, path = Shared(), tmp_path / "w"
    assert np.shares_memory(model.twin.weight._data, model.embedding.weight._data)
    save_weights(model, path, {"best": "part.weight", "twin.weight": "mine"})
    assert files.load_file(path).keys() == {"embedding.weight", "part.weight"}
    assert read_metadata(path) == {"head.weight": "embedding.weight", "best": "part.weight", "twin.weight": "mine"}
    with pytest.raises(ValueError, match="missing: twin.weight"):  # the user's metadata uses the name
        load_weights(Shared(tied=False), path)
    save_weights(model, path)
    for other in Shared(tied=False), Shared():
        other.part.weight = nn.Parameter(np.zeros((2, 3), np.float32))
        assert load_weights(other, path) == ([], [])
        assert equal(values(other), values(model))
    save_checkpoint(path, model=model)
    other = Shared()
    load_checkpoint(path, model=other)
    assert equal(values(other), values(model))


def test_empty_parameters_are_not_tied(tmp_path):
    model = nn.ParameterList([nn.Parameter(np.zeros((0, 2), np.float32)) for _ in range(3)])
    save_weights(model, tmp_path / "w")
    assert load_weights(model, tmp_path / "w") == ([], []) and len(files.load_file(tmp_path / "w")) == 3


def test_invalid_metadata_is_refused(tmp_path):
    for metadata in {"sha256": "1"}, {"writer": "me"}, {"epochs": 3}, {3: "epochs"}:
        with pytest.raises(TypeError, match="save_weights: metadata .* must be a string, its name a string other than"):
            save_weights(nn.Linear(1, 1), tmp_path / "w", metadata)
    assert not list(tmp_path.iterdir())


# Checkpoints --------------------------------------------------------------------------------------------------------


def run(seed=0):
    """A model, an optimizer, and other parts with state, after a few steps."""
    manual_seed(seed)
    model = nn.MLP([4, 5, 2])
    plateau = optim.schedule.ReduceOnPlateau(0.1, patience=0)
    parts = dict(model=model, optimizer=optim.AdamW(model.parameters(), lr=plateau), ema=optim.EMA(model),
                 stopper=EarlyStopping(model, patience=3), plateau=plateau, other=np.random.default_rng(seed),
                 mersenne=np.random.Generator(np.random.MT19937(seed)))
    return parts, advance(parts, 3)


def advance(parts, steps):
    """Train on random numbers, and return numbers that depend on every part."""
    for _ in range(steps):
        model = parts["model"]
        noise = parts["other"].normal() + parts["mersenne"].normal()
        loss = (model(Tensor.randn(3, 4)) ** 2).sum() + float(noise)
        parts["optimizer"].zero_grad()
        loss.backward()
        parts["optimizer"].step()
        parts["ema"].update()
        parts["plateau"].update(loss.item())
        parts["stopper"].update(loss.item())
    with parts["ema"].swapped():
        averaged = values(model)
    return [loss.item(), parts["optimizer"].lr, parts["stopper"].best, *averaged.values(), *values(model).values(),
            *parts["stopper"].best_weights.values()]


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


WRONG = {
    "model": lambda p: nn.MLP([4, 6, 2]), "optimizer": lambda p: optim.SGD(p["model"].parameters(), lr=0.1),
    "ema": lambda p: optim.EMA(nn.Linear(3, 2)), "stopper": lambda p: EarlyStopping(nn.Linear(3, 2)),
    "plateau": lambda p: p["ema"], "other": lambda p: p["mersenne"], "mersenne": lambda p: p["other"],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_part_that_does_not_fit_changes_nothing(name, tmp_path):
    """The wrong part comes last: all others were found to fit by then."""
    parts, _ = run()
    save_checkpoint(tmp_path / "c", **parts)
    advance(parts, 2)
    wrong = {**{n: part for n, part in parts.items() if n != name}, name: WRONG[name](parts)}
    save_checkpoint(tmp_path / "before", **parts)
    with pytest.raises(ValueError, match=f"c does not fit '{name}', and nothing was loaded: "):
        load_checkpoint(tmp_path / "c", **wrong)
    save_checkpoint(tmp_path / "after", **parts)
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_users_part_that_does_not_fit_changes_nothing(tmp_path):
    class Counter:
        def state_dict(self):
            return {"n": 3}

        def load_state_dict(self, state):
            raise KeyError("n")

    model = nn.Linear(2, 2)
    save_checkpoint(tmp_path / "c", model=nn.Linear(2, 2), counter=Counter())
    before = values(model)
    with pytest.raises(ValueError, match=r"does not fit 'counter', and nothing was loaded: it raises KeyError\('n'\)"):
        load_checkpoint(tmp_path / "c", model=model, counter=Counter())
    assert equal(values(model), before)


def test_a_resumed_run_repeats_every_bit(tmp_path):
    parts, _ = run()
    save_checkpoint(tmp_path / "c", **parts, epoch=3, history=[{"loss": 0.1, "note": None, "ok": True}],
                    table=np.arange(3), scalar=np.float32(0.5))
    expected = advance(parts, 4)
    resumed, _ = run(seed=1)
    rest = load_checkpoint(tmp_path / "c", **resumed)
    assert same(advance(resumed, 4), expected)
    assert rest.pop("table").tolist() == [0, 1, 2]
    assert rest == {"epoch": 3, "history": [{"loss": 0.1, "note": None, "ok": True}], "scalar": 0.5}


def test_the_previous_checkpoint_is_kept(tmp_path):
    model = nn.Linear(2, 2)
    for epoch in range(3):
        model.bias.assign([epoch, epoch])
        save_checkpoint(tmp_path / "c", model=model, epoch=epoch)
    assert load_checkpoint(tmp_path / "c", model=model)["epoch"] == 2
    assert load_checkpoint(previous(tmp_path / "c"), model=model)["epoch"] == 1
    assert model.bias.tolist() == [1, 1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "c.previous"]


def test_every_kind_of_damage_is_noticed(tmp_path):
    path = tmp_path / "c"
    model = nn.Linear(2, 2)
    save_checkpoint(path, model=model, epoch=0)
    save_checkpoint(path, model=model, epoch=1)
    whole = path.read_bytes()
    state = values(model), tinygrad_like.get_rng_state()
    rng = np.random.default_rng(0)
    for cut in [0, 1, 7, 8, 100, len(whole) - 1, *rng.integers(0, len(whole), 20)]:
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=f"damaged.*the checkpoint before it is {previous(path)}"):
            load_checkpoint(path, model=model)
    end = 8 + int.from_bytes(whole[:8], "little")
    padding = range(len(whole[:end].rstrip()), end)  # after the header's JSON; it is not read
    for position in set(range(len(whole))) - set(padding):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ (1 << rng.integers(8))]) + whole[position + 1:])
        with pytest.raises(ValueError, match="damaged|no checkpoint"):
            load_checkpoint(path, model=model)
    assert equal(values(model), state[0]) and tinygrad_like.get_rng_state() == state[1]
    assert load_checkpoint(previous(path), model=model)["epoch"] == 0


def test_a_checkpoint_without_its_checksum_is_refused(tmp_path):
    save_checkpoint(tmp_path / "c", epoch=0)
    content = (tmp_path / "c").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    files.save_file({}, tmp_path / "c", {"format": header["__metadata__"]["format"], "tree": "{}"})
    with pytest.raises(ValueError, match="its SHA-256 is missing"):
        load_checkpoint(tmp_path / "c")
    save_weights(nn.Linear(1, 1), tmp_path / "w")
    (tmp_path / "w").write_bytes((tmp_path / "w").read_bytes().replace(b"sha256", b"sha255"))
    with pytest.raises(ValueError, match="its SHA-256 is missing"):
        load_weights(nn.Linear(1, 1), tmp_path / "w")


@pytest.mark.parametrize("call", ["fsync", "replace", "link"])
@pytest.mark.parametrize("which", [1, 2])
def test_a_failure_at_any_point_leaves_a_whole_checkpoint(tmp_path, monkeypatch, call, which):
    for epoch in range(2):
        save_checkpoint(tmp_path / "c", epoch=epoch)
    real, calls = getattr(os, call), []

    def failing(*args):
        calls.append(args)
        if len(calls) == which:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(os, call, failing)
    try:
        save_checkpoint(tmp_path / "c", epoch=2)
    except KeyboardInterrupt:
        pass
    monkeypatch.undo()
    assert load_checkpoint(tmp_path / "c")["epoch"] in (1, 2)
    assert load_checkpoint(previous(tmp_path / "c"))["epoch"] in (0, 1)
    save_checkpoint(tmp_path / "c", epoch=3)  # the next save works
    assert load_checkpoint(tmp_path / "c")["epoch"] == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "c.previous"]


@pytest.mark.parametrize("save", [
    lambda path, module: save_weights(module, path), lambda path, module: save_checkpoint(path, model=module),
], ids=["weights", "checkpoint"])
def test_a_full_disk_is_reported_and_harms_nothing(tmp_path, monkeypatch, save):
    resource = pytest.importorskip("resource")
    module = nn.Linear(400, 400)
    path = tmp_path / "w"
    for _ in range(2):
        save(path, module)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in 0, 1, 100_000:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
        try:
            with pytest.raises(OSError, match=f"save_.*: {path} could not be written .*; an earlier file is unh"):
                save(path, module)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    monkeypatch.setattr(os, "fsync", lambda descriptor: os.write(os.open(os.devnull, os.O_RDONLY), b"x"))
    with pytest.raises(OSError, match="could not be written"):
        save(path, module)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    with pytest.raises(OSError, match=f"save_.*: {path}/w could not be written"):
        save(path / "w", module)


def test_simultaneous_writers_leave_whole_checkpoints(tmp_path):
    """Here threads; processes use the same lock."""
    path, failures = tmp_path / "c", []
    save_checkpoint(path, who=-1, numbers=np.zeros(5000))
    save_checkpoint(path, who=-1, numbers=np.zeros(5000))

    def write(who):
        try:
            for _ in range(20):
                save_checkpoint(path, who=who, numbers=np.full(5000 + who, who))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[who]) for who in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for one in path, previous(path):
            found = load_checkpoint(one)
            assert (found["numbers"] == max(found["who"], 0)).all()
    for thread in threads:
        thread.join()
    assert not failures and sorted(p.name for p in tmp_path.iterdir()) == ["c", "c.previous"]


def test_checkpoints_work_on_a_file_system_without_links(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    for epoch in range(3):
        save_checkpoint(tmp_path / "c", epoch=epoch)
    assert load_checkpoint(previous(tmp_path / "c"))["epoch"] == 1


def test_arrays_of_any_byte_order_are_restored(tmp_path):
    save_checkpoint(tmp_path / "c", table=np.arange(3, dtype=">i4"), ratio=np.array(0.5, ">f8"), empty=np.zeros((0, 3)))
    found = load_checkpoint(tmp_path / "c")
    assert found["table"].tolist() == [0, 1, 2] and found["table"].dtype == np.int32
    assert found["ratio"].shape == () and found["ratio"] == 0.5 and found["empty"].shape == (0, 3)


@pytest.mark.parametrize("tree", [
    None, "", "{", "null", "3", "[]", '"x"', "{}", "NaN", "[" * 100_000, '{"a":' * 100_000, "[" * 400 + "]" * 400,
    "[" + "9" * 5000 + "]", *[json.dumps({"dict": entries}) for entries in (
        [], 3, [1], [[[], 1]], {"a": 1}, [["a", {}]], [["a", {"list": []}]], [["a", {"tuple": 1}]],
        *[[["a", {kind: name}]] for kind in ("array", "tensor") for name in ("none", 3, ["x"])],
        [["package generator", 3]], [["package generator", {"array": "model/0"}]])],
], ids=lambda tree: str(tree)[:20])
def test_a_malformed_tree_is_refused(tmp_path, tree):
    """With a right checksum: another program wrote such a file."""
    path, model = tmp_path / "c", nn.Linear(2, 2)
    before, rng = values(model), tinygrad_like.get_rng_state()
    metadata = {"format": checkpoint.FORMAT} if tree is None else {"format": checkpoint.FORMAT, "tree": tree}
    checkpoint.write("test", path, {"model/0": np.zeros((2, 2), np.float32)}, metadata)
    with pytest.raises(ValueError, match=f"load_checkpoint: {path} is damaged, or written by another program"):
        load_checkpoint(path, model=model)
    assert equal(values(model), before) and tinygrad_like.get_rng_state() == rng


def test_bad_arguments_raise(tmp_path):
    with pytest.raises(TypeError, match="save_checkpoint: a/1/b is a set; a file holds"):
        save_checkpoint(tmp_path / "c", a=[0, {"b": {1}}])
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="load_checkpoint: there is no file"):
        load_checkpoint(tmp_path / "c")
    with pytest.raises(FileNotFoundError, match="load_weights: there is no file"):
        load_weights(nn.Linear(1, 1), tmp_path / "c")
    save_checkpoint(tmp_path / "c", epoch=1)
    with pytest.raises(ValueError, match="has no 'model', only epoch"):
        load_checkpoint(tmp_path / "c", model=nn.Linear(1, 1))
    save_weights(nn.Linear(1, 1), tmp_path / "w")
    with pytest.raises(ValueError, match="has weights but is not a checkpoint"):
        load_checkpoint(tmp_path / "w")
    (tmp_path / "x").write_bytes(b"\x80\x04pickle" * 10)
    with pytest.raises(ValueError, match="load_weights: .*not a safetensors file"):
        load_weights(nn.Linear(1, 1), tmp_path / "x")


# Killed runs ----------------------------------------------------------------------------------------------------------

RUN = """
import math, sys
from pathlib import Path
import nn, optim
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader, MixUp, RandomShift, load_digits
from tinygrad_like.training import EarlyStopping, Log, accuracy, fit, predict, save_weights

folder = Path(sys.argv[1])
manual_seed(5)
x, y = load_digits()
model = nn.ResNet(nn.BasicBlock, [1, 1, 1], (4, 8, 16), 10, 1, stem="small")
n, epochs = 300, 12
loader = DataLoader(x[:n], y[:n], batch_size=64, shuffle=True, transform=RandomShift(1), mix=MixUp(10), prefetch=2)
plateau = optim.schedule.ReduceOnPlateau(optim.schedule.cosine(3e-3, epochs * len(loader)), "max", patience=2)
checkpoint = folder / "run.ckpt"
with Log(folder / "run.csv") as log:
    fit(model, loader, nn.CrossEntropyLoss(label_smoothing=0.1), optim.AdamW(model.parameters(), lr=plateau), epochs,
        evaluate=lambda m: {"test_accuracy": accuracy(predict(m, x[1000:]), y[1000:])}, monitor="test_accuracy",
        stopper=EarlyStopping(model, math.inf), plateau=plateau, ema=optim.EMA(model, 0.9), checkpoint=checkpoint,
        resume=checkpoint if checkpoint.exists() else None, log=log)
save_weights(model, folder / "final.safetensors")
"""


def start(folder):
    return subprocess.Popen([sys.executable, "-c", RUN, str(folder)], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "2"})


def left(folder):
    """A run's weights, checkpoint and CSV columns, without the times."""
    arrays, metadata = checkpoint.read("", folder / "run.ckpt")
    tree = dict(json.loads(metadata["tree"])["dict"])
    for row in tree["rows"]:
        row["dict"] = [pair for pair in row["dict"] if pair[0] not in ("seconds", "examples_per_second")]
    table = [line.split(",")[:4] for line in (folder / "run.csv").read_text().splitlines()]
    return (folder / "final.safetensors").read_bytes(), {n: a.tobytes() for n, a in arrays.items()}, tree, table


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_a_run_killed_at_random_moments_ends_like_an_uninterrupted_one(tmp_path):
    """TINYGRAD_LIKE_KILLS is the number of kills; a finished run starts again."""
    whole, wanted, kills = tmp_path / "whole", int(os.environ.get("TINYGRAD_LIKE_KILLS", 4)), 0
    rng = np.random.default_rng(0)
    whole.mkdir()
    with start(whole) as process:
        process.communicate(timeout=600)
    assert process.returncode == 0
    for run in range(10**6):
        killed = tmp_path / str(run)
        killed.mkdir()
        while not (killed / "final.safetensors").exists():
            with start(killed) as process:
                if kills < wanted and rng.random() < 0.2:  # while it starts, or reads the checkpoint
                    time.sleep(rng.uniform(0, 2))
                else:
                    process.stdout.readline()  # the heading: it is training now
                    if kills < wanted:
                        process.stdout.readline()
                        time.sleep(rng.uniform(0, 0.1))
                if kills < wanted:
                    process.kill()
                    kills += process.wait() == -signal.SIGKILL
                else:
                    process.communicate(timeout=600)
                    assert process.returncode == 0
        assert left(killed) == left(whole), f"run {run}"
        if kills >= wanted:
            break
    assert {p.name for p in killed.iterdir()} == {p.name for p in whole.iterdir()}
