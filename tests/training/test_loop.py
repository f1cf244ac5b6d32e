import signal
import weakref

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, get_rng_state, is_grad_enabled, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.random import numbers
from tinygrad_like.training import (
    EarlyStopping,
    evaluating,
    fit,
    load_checkpoint,
    predict,
    save_checkpoint,
    train_epoch,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 6)).astype(np.float32)
Y = (X @ rng.standard_normal((6, 3))).argmax(axis=1)


def setup(lr=0.1, **options):
    manual_seed(0)
    model = nn.MLP([6, 16, 3])
    return model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=lr, momentum=0.9, **options)


def weights(model):
    return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])


def plain(batches, lr=0.1, after=lambda model: None):
    """The loop written out."""
    model, criterion, optimizer = setup(lr)
    for x, y in batches:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        after(model)
        optimizer.step()
    return weights(model)


def test_train_epoch_equals_the_loop_written_out():
    model, criterion, optimizer = setup()
    result = train_epoch(model, DataLoader(X, Y, batch_size=20), criterion, optimizer)
    assert np.array_equal(weights(model), plain(DataLoader(X, Y, batch_size=20)))
    model, criterion, _ = setup()
    outputs = model(Tensor(X[:20]))
    first = train_epoch(model, [(Tensor(X[:20]), Tensor(Y[:20]))], criterion, optim.SGD(model.parameters(), lr=0))
    assert first["loss"] == pytest.approx(criterion(outputs, Tensor(Y[:20])).item())
    assert first["accuracy"] == np.mean(outputs.detach().numpy().argmax(1) == Y[:20])
    assert result["count"] == 90 and first["count"] == 20


@pytest.mark.parametrize("micro, accumulate, big", [(10, 3, 30), (20, 2, 40), (7, 4, 28), (90, 5, 90)])
def test_accumulated_batches_equal_one_big_batch(micro, accumulate, big):
    """Also if the last group, or its last batch, is smaller."""
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
    """A batch's weight is the weight of its labels that count."""
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


@pytest.mark.parametrize("criterion", [nn.MSELoss(), nn.KLDivLoss(reduction="batchmean"), nn.KLDivLoss(),
                                       nn.L1Loss(reduction="sum"),
                                       nn.BCEWithLogitsLoss()], ids=range(5))
def test_accumulated_batches_of_numbers_equal_one_big_batch(criterion):
    """Also if the examples' length differs from batch to batch."""
    rng, model = np.random.default_rng(1), nn.Linear(4, 4)
    batches = [(Tensor(rng.random((n, length, 4), np.float32)), Tensor(rng.random((n, length, 4), np.float32)))
               for n, length in ((3, 2), (2, 2), (1, 2))]
    whole = tuple(Tensor(np.concatenate([b[i]._data for b in batches])) for i in range(2))
    gradients = []
    for loader in (batches, [whole]):
        train_epoch(model, loader, criterion, optim.SGD(model.parameters(), lr=0), metrics={}, accumulate=3)
        gradients.append([p.grad.numpy() for p in model.parameters()])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_batches_with_only_ignored_labels_change_nothing():
    model, _, optimizer = setup()
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    before = weights(model)
    zeros = [(Tensor(X[:4]), Tensor.zeros(4, dtype="int64"))] * 2
    numbers = train_epoch(model, zeros, criterion, optimizer, accumulate=2)
    assert np.isnan(numbers["loss"]) and np.array_equal(weights(model), before)


def test_a_loader_without_batches_raises():
    model, criterion, optimizer = setup()
    with pytest.raises(ValueError, match="the loader has no batches; .* drop_last=True has none if"):
        train_epoch(model, DataLoader(X, Y, batch_size=100, drop_last=True), criterion, optimizer)
    with pytest.raises(ValueError, match="predict: x has no rows"):
        predict(model, X[:0])


def test_train_epoch_clips_and_adds_the_penalty():
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


def test_clipping_includes_the_penalty():
    model, criterion, optimizer = setup()
    train_epoch(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, clip_norm=0.1,
                penalty=lambda: 0.05 * optim.l2_penalty(model.parameters()))

    def both(m):
        (0.05 * optim.l2_penalty(m.parameters())).backward()
        optim.clip_grad_norm(m.parameters(), 0.1)

    np.testing.assert_allclose(weights(model), plain(DataLoader(X, Y, batch_size=30), after=both), atol=1e-6)


def test_the_criterion_or_model_may_change_with_the_same_optimizer():
    """A program captured for one is not replayed for another."""
    def of(changes):
        model, criterion, optimizer = setup()
        for criterion, part in changes:
            train_epoch(model if part is None else part(model), DataLoader(X, Y, batch_size=15), criterion, optimizer)
        return weights(model)

    def by_hand(changes):
        model, _, optimizer = setup()
        for criterion, part in changes:
            for x, y in DataLoader(X, Y, batch_size=15):
                optimizer.zero_grad()
                criterion((model if part is None else part(model))(x), y).backward()
                optimizer.step()
        return weights(model)

    mean, smooth = nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.3)
    weighted = nn.CrossEntropyLoss(Tensor([1.0, 5.0, 0.1]))
    wrapped = nn.Sequential
    for changes in ([(mean, None), (smooth, None)], [(smooth, None), (weighted, None), (smooth, None)],
                    [(mean, None), (lambda out, y: smooth(out * 2, y), None)],
                    [(mean, None), (mean, lambda m: wrapped(m, nn.Tanh())), (mean, None)]):
        np.testing.assert_allclose(of(changes), by_hand(changes), atol=1e-5)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_batches_are_freed(accumulate):
    """Only the batches of a step and of the one before are alive."""
    model, criterion, optimizer = setup()
    alive, most = [], []

    def loader():
        for start in range(0, 80, 10):
            x, y = Tensor(X[start:start + 10]), Tensor(Y[start:start + 10])
            alive.extend([weakref.ref(x), weakref.ref(x._data), weakref.ref(y), weakref.ref(y._data)])
            most.append(sum(ref() is not None for ref in alive) // 4)
            yield x, y
            del x, y

    for _ in range(2):
        train_epoch(model, loader(), criterion, optimizer, accumulate=accumulate)
        assert not any(ref() is not None for ref in alive)
    assert max(most) <= 2 * accumulate


def test_regression_may_have_its_own_metrics():
    model = nn.Linear(6, 1)
    loader = DataLoader(X, X.sum(axis=1, keepdims=True), batch_size=30)
    numbers = train_epoch(model, loader, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.01),
                          metrics={"mae": lambda a, b: float(np.abs(a.detach().numpy() - b.detach().numpy()).mean())})
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
    np.testing.assert_allclose(predict(model, X, batch_size=7), model(Tensor(X)).detach().numpy(), atol=1e-6)


def test_fit_learns_and_returns_a_row_per_epoch():
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


def test_fit_stops_early_and_returns_to_the_best():
    model, criterion, optimizer = setup()
    snapshots, scores = [], iter([1, 5, 3, 2, 9, 9])

    def evaluate(m):
        snapshots.append(weights(m))
        return {"score": next(scores)}

    rows = fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 6, evaluate=evaluate, monitor="score",
               stopper=EarlyStopping(model, patience=2))
    assert len(rows) == 4
    assert np.array_equal(weights(model), snapshots[1])


def test_fit_evaluates_and_keeps_the_average():
    model, criterion, optimizer = setup()
    ema, snapshots = optim.EMA(model, 0.9), []
    fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 3, ema=ema,
        evaluate=lambda m: snapshots.append(weights(m)) or {})
    assert np.array_equal(weights(model), snapshots[-1])
    assert np.array_equal(weights(model), np.concatenate([a.ravel() for a in ema.averages.values()]))
    assert not np.allclose(weights(model), plain([*DataLoader(X, Y, batch_size=30)] * 3))


def test_fit_updates_the_plateau():
    model, criterion, _ = setup()
    plateau = optim.schedule.ReduceOnPlateau(0.1, factor=0.5, patience=0)
    rows = fit(model, DataLoader(X, Y, batch_size=30), criterion, optim.SGD(model.parameters(), lr=plateau), 4,
               evaluate=lambda m: {"flat": 1.0}, monitor="flat", plateau=plateau)
    assert [row["lr"] for row in rows] == [0.1, 0.1, 0.05, 0.025]


@pytest.mark.parametrize("kind", ["ema", "best", "stopped", "plain"])
def test_fit_resumes_to_the_bit(tmp_path, kind):
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


def test_fit_refuses_other_programs_checkpoints(tmp_path):
    model, criterion, optimizer = setup()
    loader = DataLoader(X, Y, batch_size=30)
    for parts in {}, {"rows": 3, "settings": {}}, {"rows": [], "settings": None}:
        save_checkpoint(tmp_path / "c", model=model, optimizer=optimizer, **parts)
        manual_seed(7)
        before = get_rng_state()
        with pytest.raises(ValueError, match=f"fit: {tmp_path}/c is a checkpoint, but fit did not write it"):
            fit(model, loader, criterion, optimizer, 1, resume=tmp_path / "c")
        assert get_rng_state() == before


def test_fit_refuses_a_checkpoint_of_other_settings(tmp_path):
    for resume in (None, tmp_path / "c"):
        model, criterion, optimizer = setup()
        loader = DataLoader(X, Y, batch_size=30)
        fit(model, loader, criterion, optimizer, 1, checkpoint=tmp_path / "c", resume=resume, settings={"lr": 0.1})
    manual_seed(5)
    before = get_rng_state()
    with pytest.raises(ValueError, match="other settings .lr: 0.1 then, 0.2 now; width: None then, 3 now"):
        fit(model, loader, criterion, optimizer, 1, resume=tmp_path / "c", settings={"lr": 0.2, "width": 3})
    assert get_rng_state() == before


def test_bad_arguments_raise():
    model, criterion, optimizer = setup()
    loader = DataLoader(X, Y, batch_size=30)
    with pytest.raises(ValueError, match="accumulate=0 must be at least 1"):
        train_epoch(model, loader, criterion, optimizer, accumulate=0)
    with pytest.raises(ValueError, match="has no batches"):
        train_epoch(model, iter([]), criterion, optimizer)
    with pytest.raises(ValueError, match="monitor='accuracy' is not one of .*: epoch, loss, train_accuracy"):
        fit(model, loader, criterion, optimizer, 1, monitor="accuracy", stopper=EarlyStopping(model))
    with pytest.raises(ValueError, match="monitor=None"):
        fit(model, loader, criterion, optimizer, 1, stopper=EarlyStopping(model))


class CtrlC:
    """Presses Ctrl-C before some batches of a loader; twice if a number occurs twice."""

    def __init__(self, loader, *before):
        self.loader, self.before, self.given = loader, before, 0

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for batch in self.loader:
            for _ in range(self.before.count(self.given)):
                signal.raise_signal(signal.SIGINT)
            self.given += 1
            yield batch


class Drawn:
    """Five batches; the package's generator draws each when it is read."""

    def __len__(self):
        return 5

    def __iter__(self):
        for _ in range(5):
            rows = numbers().integers(90, size=20)
            yield Tensor(X[rows]), Tensor(Y[rows])


@pytest.mark.parametrize("loader", [DataLoader(X, Y, batch_size=20, shuffle=True), Drawn()])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("batch", [0, 1, 4, 8, 9])
def test_ctrl_c_saves_after_the_step_and_resumes_to_the_bit(tmp_path, batch, accumulate, loader):

    def run(*pressed, resume=None):
        model, criterion, optimizer = setup(optim.schedule.cosine(0.1, 12))
        model = nn.Sequential(nn.Dropout(0.3), model)  # draws random numbers within each step
        rows = fit(model, CtrlC(loader, *pressed), criterion, optimizer, 3, accumulate=accumulate,
                   checkpoint=tmp_path / "c", resume=resume)
        return weights(model), [(row["loss"], row["train_accuracy"], row["lr"]) for row in rows]

    expected = run()
    with pytest.raises(KeyboardInterrupt):
        run(batch)
    saved = load_checkpoint(tmp_path / "c")
    assert len(saved["rows"]) * 5 + saved["begun"]["batches"] == batch + 1 + (accumulate == 2 and batch % 5 in (0, 2))
    manual_seed(99)
    resumed = run(resume=tmp_path / "c")
    assert np.array_equal(resumed[0], expected[0]) and resumed[1] == expected[1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("loader", [DataLoader(X, Y, batch_size=20, shuffle=True), Drawn()])
def test_ctrl_c_between_two_epochs_resumes_to_the_bit(tmp_path, loader):
    """The order of the next epoch has already been drawn."""

    def run(pressed_in, resume=None):
        model, criterion, optimizer = setup()
        evaluated = []

        def evaluate(model):
            evaluated.append(model)
            if len(evaluated) == pressed_in:
                signal.raise_signal(signal.SIGINT)
            return {}

        fit(model, loader, criterion, optimizer, 4, checkpoint=tmp_path / "c", resume=resume, evaluate=evaluate)
        return weights(model)

    expected = run(None)
    for pressed_in, resume in ((1, None), (1, tmp_path / "c")):
        with pytest.raises(KeyboardInterrupt):
            run(pressed_in, resume)
        manual_seed(99)
    assert np.array_equal(run(None, tmp_path / "c"), expected)


def test_ctrl_c_in_the_last_epochs_evaluation_is_not_lost(tmp_path):
    model, criterion, optimizer = setup()
    with pytest.raises(KeyboardInterrupt):
        fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 1, checkpoint=tmp_path / "c",
            evaluate=lambda m: signal.raise_signal(signal.SIGINT) or {"score": 1.0})
    assert len(load_checkpoint(tmp_path / "c")["rows"]) == 1


def test_ctrl_c_twice_stops_at_once_and_leaves_the_last_epochs_checkpoint(tmp_path):
    model, criterion, optimizer = setup()
    with pytest.raises(KeyboardInterrupt):
        fit(model, CtrlC(DataLoader(X, Y, batch_size=30), 4, 4), criterion, optimizer, 3, checkpoint=tmp_path / "c")
    saved = load_checkpoint(tmp_path / "c")
    assert len(saved["rows"]) == 1 and "begun" not in saved


def test_the_users_ctrl_c_handler_is_left_alone():
    seen, before = [], signal.signal(signal.SIGINT, lambda *args: seen.append(args))
    try:
        model, criterion, optimizer = setup()
        assert len(fit(model, CtrlC(DataLoader(X, Y, batch_size=30), 1), criterion, optimizer, 2)) == 2
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == 1


def test_a_finished_run_can_be_continued(tmp_path):
    path = tmp_path / "c"
    model, criterion, optimizer = setup()
    fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 2, checkpoint=path)
    model, criterion, optimizer = setup()
    assert len(fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 3, resume=path)) == 3
    with pytest.raises(ValueError, match="has 2 epochs; epochs=1 must not be fewer"):
        fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 1, resume=path)


def test_a_loss_that_is_not_finite_names_the_op_and_keeps_the_weights(tmp_path):
    model, _, optimizer = setup()
    calls = []

    def criterion(logits, y):
        calls.append(y)
        loss = nn.functional.cross_entropy(logits, y)
        return loss if len(calls) < 5 else loss / (0 * loss)

    message = r"the loss is inf: div made the first infinity.*learning rate.*c is from the epoch before"
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=message):
        fit(model, DataLoader(X, Y, batch_size=30), criterion, optimizer, 3, checkpoint=tmp_path / "c")
    saved = load_checkpoint(tmp_path / "c", model=model)
    assert len(saved["rows"]) == 1 and np.isfinite(weights(model)).all()


def test_weights_that_are_no_longer_finite_are_not_saved(tmp_path):
    model, criterion, optimizer = setup(lr=1e30)
    with pytest.raises(FloatingPointError, match=r"fit: 0.weight is no longer finite after the last step of epoch 1"):
        fit(model, [(Tensor(1e12 * X), Tensor(Y))], criterion, optimizer, 3, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_batch_that_is_not_finite_is_named():
    model, criterion, optimizer = setup()
    with pytest.raises(FloatingPointError, match="the loss is nan: the batch itself is not finite"):
        train_epoch(model, [(Tensor(X * np.nan), Tensor(Y))], criterion, optimizer)
