import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, get_rng_state, is_grad_enabled, manual_seed
from tinygrad_like.data import DataLoader
from training import EarlyStopping, evaluating, fit, predict, save_checkpoint, train_epoch

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 6)).astype(np.float32)
Y = (X @ rng.standard_normal((6, 3))).argmax(axis=1)


def setup(lr=0.1, **options):
    manual_seed(0)
    model = nn.MLP([6, 16, 3])
    return model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=lr, momentum=0.9, **options)


def weights(model):
    return np.concatenate([p.numpy().ravel() for p in model.parameters()])


def plain(batches, lr=0.1, after=lambda model: None):
    """The loop written out."""
    model, criterion, optimizer = setup(lr)
    for x, y in batches:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        after(model)
        optimizer.step()
    return weights(model)


def test_train_epoch_is_the_loop_written_out():
    model, criterion, optimizer = setup()
    result = train_epoch(model, DataLoader(X, Y, batch_size=20), criterion, optimizer)
    assert np.array_equal(weights(model), plain(DataLoader(X, Y, batch_size=20)))
    model, criterion, _ = setup()
    outputs = model(Tensor(X[:20]))
    first = train_epoch(model, [(Tensor(X[:20]), Tensor(Y[:20]))], criterion, optim.SGD(model.parameters(), lr=0))
    assert first["loss"] == pytest.approx(criterion(outputs, Tensor(Y[:20])).item())
    assert first["accuracy"] == np.mean(outputs.numpy().argmax(1) == Y[:20])
    assert result["count"] == 90 and first["count"] == 20


def test_means_are_over_examples_not_batches():
    model, criterion, _ = setup()
    still = optim.SGD(model.parameters(), lr=0)
    one, many = (train_epoch(model, DataLoader(X, Y, batch_size=n), criterion, still) for n in (90, 40))
    assert one == pytest.approx(many)


@pytest.mark.parametrize("micro, accumulate, big", [(10, 3, 30), (20, 2, 40), (7, 4, 28), (90, 5, 90)])
def test_accumulated_batches_equal_one_big_batch(micro, accumulate, big):
    """Also where the last group, or the last batch in it, is smaller than the others."""
    model, criterion, optimizer = setup()
    train_epoch(model, DataLoader(X, Y, batch_size=micro), criterion, optimizer, accumulate=accumulate)
    np.testing.assert_allclose(weights(model), plain(DataLoader(X, Y, batch_size=big)), atol=1e-6)
    assert optimizer.steps == -(-90 // big)


WEIGHTS = Tensor([1.0, 5.0, 0.2])


@pytest.mark.parametrize("criterion", [
    nn.CrossEntropyLoss(ignore_index=1), nn.CrossEntropyLoss(weight=WEIGHTS),
    nn.CrossEntropyLoss(weight=WEIGHTS, ignore_index=0, label_smoothing=0.1), nn.CrossEntropyLoss(reduction="sum"),
    nn.Sequential(), nn.NLLLoss(weight=WEIGHTS, ignore_index=2)], ids=range(6))
@pytest.mark.parametrize("micro", [10, 7])
def test_accumulated_batches_equal_one_big_batch_for_any_share_of_labels(criterion, micro):
    """Batches of which few labels count, or none, or which are smaller, count for less."""
    if isinstance(criterion, nn.Sequential):  # probabilities
        criterion, y = nn.CrossEntropyLoss(weight=WEIGHTS), np.eye(3, dtype="float32")[Y]
    else:
        y = np.sort(Y)
    runs = []
    for size, accumulate in ((micro, -(-90 // micro)), (90, 1)):
        model, _, optimizer = setup(lr=0.01)
        numbers = train_epoch(model, DataLoader(X, y, batch_size=size), criterion, optimizer, metrics={},
                              accumulate=accumulate)
        assert optimizer.steps == 1
        runs.append((weights(model), numbers))
    np.testing.assert_allclose(runs[0][0], runs[1][0], atol=2e-6 if criterion.reduction == "mean" else 2e-5)
    if criterion.reduction == "mean":
        assert runs[0][1] == pytest.approx(runs[1][1], rel=1e-5)


@pytest.mark.parametrize("criterion", [nn.MSELoss(), nn.KLDivLoss("batchmean"), nn.KLDivLoss(), nn.L1Loss("sum"),
                                       nn.BCEWithLogitsLoss()], ids=range(5))
def test_accumulated_batches_of_numbers_equal_one_big_batch(criterion):
    """Also where examples differ in length from batch to batch."""
    rng, model = np.random.default_rng(1), nn.Linear(4, 4)
    batches = [(Tensor(rng.random((n, length, 4), np.float32)), Tensor(rng.random((n, length, 4), np.float32)))
               for n, length in ((3, 2), (2, 2), (1, 2))]
    whole = tuple(Tensor(np.concatenate([b[i].data for b in batches])) for i in range(2))
    gradients = []
    for loader in (batches, [whole]):
        train_epoch(model, loader, criterion, optim.SGD(model.parameters(), lr=0), metrics={}, accumulate=3)
        gradients.append([p.grad.numpy() for p in model.parameters()])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_labels_that_are_all_ignored():
    model, _, optimizer = setup()
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    before = weights(model)
    zeros = [(Tensor(X[:4]), Tensor.zeros(4, dtype="int64"))] * 2
    numbers = train_epoch(model, zeros, criterion, optimizer, accumulate=2)
    assert np.isnan(numbers["loss"]) and np.array_equal(weights(model), before)


def test_no_batches():
    model, criterion, optimizer = setup()
    with pytest.raises(ValueError, match="the loader gave no batch; .* drop_last=True has none if"):
        train_epoch(model, DataLoader(X, Y, batch_size=100, drop_last=True), criterion, optimizer)
    with pytest.raises(ValueError, match="predict: x has no rows"):
        predict(model, X[:0])


def test_accumulation_by_hand():
    model, criterion, optimizer = setup()
    k = 3
    for i, (x, y) in enumerate(DataLoader(X, Y, batch_size=10), 1):
        (criterion(model(x), y) / k).backward()
        if i % k == 0:
            optimizer.step()
            optimizer.zero_grad()
    np.testing.assert_allclose(weights(model), plain(DataLoader(X, Y, batch_size=30)), atol=1e-6)


def test_clipping_and_penalty():
    model, criterion, optimizer = setup()
    train_epoch(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, clip_norm=0.05)
    expected = plain(DataLoader(X, Y, batch_size=30), after=lambda m: optim.clip_grad_norm(m.parameters(), 0.05))
    assert np.array_equal(weights(model), expected)

    model, criterion, optimizer = setup()
    numbers = train_epoch(model, DataLoader(X, Y, batch_size=30), criterion, optimizer,
                          penalty=lambda: 0.05 * optim.l2_penalty(model.parameters()))
    decayed, criterion, optimizer = setup(weight_decay=0.1)
    unpenalised = train_epoch(decayed, DataLoader(X, Y, batch_size=30), criterion, optimizer)
    np.testing.assert_allclose(weights(model), weights(decayed), atol=1e-6)
    assert numbers["loss"] == pytest.approx(unpenalised["loss"])


def test_ema_follows_each_step():
    model, criterion, optimizer = setup()
    ema = optim.EMA(model)
    train_epoch(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, ema=ema)
    assert ema.updates == 3


def test_metrics_of_your_own_for_regression():
    model = nn.Linear(6, 1)
    loader = DataLoader(X, X.sum(axis=1, keepdims=True), batch_size=30)
    numbers = train_epoch(model, loader, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.01),
                          metrics={"mae": lambda a, b: float(np.abs(a.numpy() - b.numpy()).mean())})
    assert numbers.keys() == {"loss", "mae", "count"} and numbers["mae"] > 0


def test_evaluating_restores_each_modules_mode():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)))
    model[1].eval()  # as a frozen norm
    with pytest.raises(KeyError), evaluating(model):
        assert not any(m.training for m in model.modules()) and not is_grad_enabled()
        raise KeyError
    assert [m.training for m in model.modules()] == [True, True, False, False]
    assert is_grad_enabled()


def test_predict_is_the_same_in_any_batches():
    model, *_ = setup()
    assert predict(model, X, batch_size=7).shape == (90, 3)
    np.testing.assert_allclose(predict(model, X, batch_size=7), model(Tensor(X)).numpy(), atol=1e-6)


def test_fit_learns_and_tells():
    model, criterion, optimizer = setup()
    seen = []

    def evaluate(m):
        seen.append(m)
        return {"test_loss": float(len(seen))}

    rows = fit(model, DataLoader(X, Y, batch_size=30, shuffle=True), criterion, optimizer, 20, evaluate=evaluate)
    assert [row["epoch"] for row in rows] == list(range(1, 21)) and seen == [model] * 20
    assert list(rows[0]) == ["epoch", "loss", "train_accuracy", "test_loss", "lr", "seconds", "examples_per_second"]
    assert rows[-1]["loss"] < rows[0]["loss"] / 2 and rows[-1]["train_accuracy"] > 0.9
    assert rows[3]["test_loss"] == 4 and rows[0]["examples_per_second"] == pytest.approx(90 / rows[0]["seconds"])


def test_fit_stops_early_and_goes_back():
    model, criterion, optimizer = setup()
    snapshots, scores = [], iter([1, 5, 3, 2, 9, 9])

    def evaluate(m):
        snapshots.append(weights(m))
        return {"score": next(scores)}

    rows = fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 6, evaluate=evaluate, monitor="score",
               stopper=EarlyStopping(model, patience=2))
    assert len(rows) == 4
    assert np.array_equal(weights(model), snapshots[1])


def test_fit_judges_and_leaves_the_average():
    model, criterion, optimizer = setup()
    ema, snapshots = optim.EMA(model, 0.9), []
    fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 3, ema=ema,
        evaluate=lambda m: snapshots.append(weights(m)) or {})
    assert np.array_equal(weights(model), snapshots[-1])
    assert np.array_equal(weights(model), np.concatenate([a.ravel() for a in ema.averages.values()]))
    assert not np.allclose(weights(model), plain([*DataLoader(X, Y, batch_size=30)] * 3))


def test_fit_tells_the_plateau():
    model, criterion, _ = setup()
    plateau = optim.schedule.ReduceOnPlateau(0.1, factor=0.5, patience=0)
    rows = fit(model, DataLoader(X, Y, batch_size=30), criterion, optim.SGD(model.parameters(), lr=plateau), 4,
               evaluate=lambda m: {"flat": 1.0}, monitor="flat", plateau=plateau)
    assert [row["lr"] for row in rows] == [0.1, 0.1, 0.05, 0.025]


@pytest.mark.parametrize("kind", ["ema", "best", "stopped", "plain"])
def test_fit_resumes_to_the_bit(tmp_path, kind):
    pytest.importorskip("safetensors")
    scores = [1, 4, 3, 5, 2, 1, 0, 0]

    def run(epochs, resume=None):
        model, criterion, optimizer = setup(optim.schedule.cosine(0.1, 24))
        ema = optim.EMA(model, 0.9) if kind == "ema" else None
        stopper = {"best": EarlyStopping(model, 9), "stopped": EarlyStopping(model, 1)}.get(kind)
        rows = []

        def evaluate(m):
            rows.append(m)
            return {"score": scores[optimizer.steps // 3 - 1]}

        rows = fit(model, DataLoader(X, Y, batch_size=30, shuffle=True), criterion, optimizer, epochs, ema=ema,
                   evaluate=evaluate, monitor="score", stopper=stopper, checkpoint=tmp_path / "c", resume=resume)
        return weights(model), [(row["loss"], row["score"], row["lr"]) for row in rows]

    expected = run(8)
    for interrupted in (1, 3, 8):
        run(interrupted)
        manual_seed(99)
        resumed = run(8, tmp_path / "c")
        assert np.array_equal(resumed[0], expected[0]) and resumed[1] == expected[1]
    assert len(expected[1]) == (3 if kind == "stopped" else 8)


def test_fit_refuses_a_checkpoint_of_other_settings(tmp_path):
    pytest.importorskip("safetensors")
    for resume in (None, tmp_path / "c"):
        model, criterion, optimizer = setup()
        loader = DataLoader(X, Y, batch_size=30)
        fit(model, loader, criterion, optimizer, 1, checkpoint=tmp_path / "c", resume=resume, settings={"lr": 0.1})
    manual_seed(5)
    before = get_rng_state()
    with pytest.raises(ValueError, match="other settings .lr: 0.1 then, 0.2 now; width: None then, 3 now"):
        fit(model, loader, criterion, optimizer, 1, resume=tmp_path / "c", settings={"lr": 0.2, "width": 3})
    save_checkpoint(tmp_path / "other", model=model, optimizer=optimizer)
    with pytest.raises(ValueError, match="other is no checkpoint of fit; use load_checkpoint"):
        fit(model, loader, criterion, optimizer, 1, resume=tmp_path / "other")
    assert get_rng_state() == before


def test_bad_input():
    model, criterion, optimizer = setup()
    loader = DataLoader(X, Y, batch_size=30)
    with pytest.raises(ValueError, match="accumulate=0 must be at least 1"):
        train_epoch(model, loader, criterion, optimizer, accumulate=0)
    with pytest.raises(ValueError, match="gave no batch"):
        train_epoch(model, iter([]), criterion, optimizer)
    with pytest.raises(ValueError, match="monitor='accuracy' names none of .*: epoch, loss, train_accuracy"):
        fit(model, loader, criterion, optimizer, 1, monitor="accuracy", stopper=EarlyStopping(model))
    with pytest.raises(ValueError, match="monitor=None"):
        fit(model, loader, criterion, optimizer, 1, stopper=EarlyStopping(model))
