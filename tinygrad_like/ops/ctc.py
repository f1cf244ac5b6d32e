"""Connectionist temporal classification: the probability of a sequence of labels, over all ways to lay it along time.

Between, before and after the L labels there may be blanks: with them there are S = 2 L + 1 states, and a path through
them goes on by one state at a time, stays, or leaves out a blank between two labels that differ (Graves et al. 2006).
"""

from __future__ import annotations

import numpy as np

from ..core.primitive import Residuals, fresh, fused
from .along import gather
from .compare import cast
from .elementwise import maximum, where
from .loss import _reduce
from .padding import pad
from .parts import take
from .shape import reshape, stack, unsqueeze
from .softmax import check_reduction, logsumexp
from .values import values_of

NEVER = -1e30  # the logarithm of the probability of what cannot be; with -inf sums of two would be NaN


def _states(targets, blank):
    """The label of every state (batch, S), and whether the state two before it leads there (batch, S)."""
    batch, length = targets.shape
    labels = np.full((batch, 2 * length + 1), blank, np.int64)
    labels[:, 1::2] = targets
    leap = np.zeros(labels.shape, bool)
    leap[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, leap


def _ends(target_lengths, states):
    """The last two states of each sequence: a blank and a label, or for no labels the blank alone."""
    last = 2 * target_lengths[:, None] - np.arange(2)
    return np.maximum(last, 0), last >= 0


def ctc_reference(log_probs, targets, input_lengths, target_lengths, blank=0):
    given = [values_of("ctc", x, "reads labels in NumPy") for x in (targets, input_lengths, target_lengths)]
    targets, input_lengths, target_lengths = _checked(log_probs, *given, blank)
    labels, leap = _states(targets, blank)
    steps, (batch, states) = len(log_probs), labels.shape
    emitted = gather(log_probs, np.ascontiguousarray(np.broadcast_to(labels, (steps, batch, states))), axis=2)
    emitted = maximum(emitted, NEVER)
    first = np.arange(states) < 2
    alpha = where(first, take(emitted, index=(0,)), NEVER)
    for t in range(1, steps):
        before = pad(alpha, padding=(2, 0), value=NEVER)
        ways = stack(alpha, take(before, index=(slice(None), slice(1, -1))),
                     where(leap, take(before, index=(slice(None), slice(0, -2))), NEVER))
        now = logsumexp(ways, axis=0) + take(emitted, index=(t,))
        alpha = where((t < input_lengths)[:, None], now, alpha)
    places, real = _ends(target_lengths, states)
    found = where(real, gather(alpha, places, axis=1), NEVER)
    return -logsumexp(found, axis=1)


def _paths(emitted, leap, input_lengths):
    """Of every state at every step the log-probability of all paths to it, (T, batch, S)."""
    alpha = np.full(emitted.shape, NEVER)
    alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, len(emitted)):
        before = alpha[t - 1]
        ways = np.full((3, *before.shape), NEVER)
        ways[0], ways[1, :, 1:], ways[2, :, 2:] = before, before[:, :-1], before[:, :-2]
        ways[2][~leap] = NEVER
        top = ways.max(0)
        now = np.log(np.exp(ways - top).sum(0)) + top + emitted[t]
        alpha[t] = np.where((t < input_lengths)[:, None], now, before)
    return alpha


@fused(reference=ctc_reference)
def ctc(log_probs, targets, input_lengths, target_lengths, *, blank=0):
    """-log of the probability of each sequence of labels, summed over all ways to lay it along time (Graves 2006).

    log_probs (T, batch, classes), logarithms of probabilities; targets (batch, L), labels other than blank, of which
    the first target_lengths count; of the T steps the first input_lengths -> (batch,)

    A sequence that fits in no way, as more labels than steps, gives a number of 1e30 or more. See
    `nn.functional.ctc_loss`. Raises ValueError for shapes that do not fit and lengths or labels out of range.
    """
    targets, input_lengths, target_lengths = _checked(log_probs, targets, input_lengths, target_lengths, blank)
    labels, leap = _states(targets, blank)
    index = np.broadcast_to(labels, (len(log_probs), *labels.shape))
    emitted = np.maximum(np.take_along_axis(log_probs, index, 2).astype(np.float64), NEVER)
    alpha = _paths(emitted, leap, input_lengths)
    places, real = _ends(target_lengths, labels.shape[1])
    found = np.where(real, np.take_along_axis(alpha[-1], places, 1), NEVER)
    with np.errstate(invalid="ignore"):  # of NaN it warns, and gives NaN
        total = np.logaddexp(found[:, 0], found[:, 1])
    return -total.astype(log_probs.dtype), Residuals(alpha=alpha, emitted=emitted, total=total)


@ctc.joint_vjp
@fresh
def _(g, log_probs, targets, input_lengths, target_lengths, alpha, emitted, total, blank):
    labels, leap = _states(targets, blank)
    steps, (batch, states) = len(log_probs), labels.shape
    last = np.full((batch, states), NEVER)
    np.put_along_axis(last, _ends(target_lengths, states)[0], 0.0, 1)
    beta = last  # of all paths from a state on to the end
    total = np.where(total < NEVER / 2, np.inf, total)[:, None]
    shares = np.zeros(emitted.shape)
    for t in range(steps - 1, -1, -1):
        if t < steps - 1:
            after = beta + emitted[t + 1]
            ways = np.full((3, batch, states), NEVER)
            ways[0], ways[1, :, :-1] = after, after[:, 1:]
            ways[2, :, :-2] = np.where(leap[:, 2:], after[:, 2:], NEVER)
            top = ways.max(0)
            beta = np.where((t < input_lengths - 1)[:, None], np.log(np.exp(ways - top).sum(0)) + top, last)
        shares[t] = np.exp(alpha[t] + beta - total) * (t < input_lengths)[:, None]
    d = np.zeros(log_probs.shape)
    n = np.arange(batch)
    for s in range(states):  # a label may stand in several states
        d[:, n, labels[:, s]] -= shares[:, :, s]
    return [(d * np.asarray(g)[:, None]).astype(log_probs.dtype), None, None, None]


def _checked(log_probs, targets, input_lengths, target_lengths, blank):
    """Labels and lengths as arrays of integers; labels beyond their length count as blanks."""
    targets, *lengths = (np.asarray(x) for x in (targets, input_lengths, target_lengths))
    if log_probs.ndim != 3 or not len(log_probs) or targets.ndim != 2 or any(
            shape != log_probs.shape[1:2] for shape in (targets.shape[:1], *[x.shape for x in lengths])):
        raise ValueError(f"ctc: takes log_probs (T, batch, classes), targets (batch, L) and lengths (batch,), got "
                         f"shapes {log_probs.shape}, {targets.shape}, {lengths[0].shape} and {lengths[1].shape}")
    if any(x.dtype.kind not in "iu" for x in (targets, *lengths)) or not isinstance(blank, int):
        raise TypeError("ctc: targets, lengths and blank must be integers; cast with .long()")
    steps, _, classes = log_probs.shape
    for name, x, low, high in (("input_lengths", lengths[0], 1, steps), ("target_lengths", lengths[1], 0,
                                                                         targets.shape[1])):
        if x.size and (x.min() < low or x.max() > high):
            raise ValueError(f"ctc: {name} must lie in {low} to {high}, got {x.tolist()[:8]}")
    counted = np.arange(targets.shape[1]) < lengths[1][:, None]
    wrong = targets[counted & ((targets < 0) | (targets >= classes) | (targets == blank))]
    if wrong.size or not 0 <= blank < classes:
        raise ValueError(f"ctc: labels must be classes from 0 to {classes - 1} other than blank={blank}, got "
                         f"{wrong.tolist()[:4] if wrong.size else blank}")
    return np.where(counted, targets, blank), lengths[0], lengths[1]


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The CTC loss of each sequence, see `ctc`; "mean" divides each by its number of labels first.

    log_probs (T, batch, classes), or (T, classes); targets (batch, L), or all labels one after the other in one axis;
    lengths: of steps and of labels, for each sequence. A sequence that fits in no way costs inf, or with zero_infinity
    nothing, and has no gradient.

    Raises ValueError for shapes, lengths or labels that do not fit.
    """
    check_reduction("ctc_loss", reduction)
    alone = log_probs.ndim == 2
    if alone:
        log_probs = unsqueeze(log_probs, 1)
    targets, *lengths = (x if hasattr(x, "_data") else np.asarray(x) for x in (targets, input_lengths, target_lengths))
    if targets.ndim == 1:
        targets, *lengths = (values_of("ctc_loss", x, "reads labels in a row in NumPy", "pass them as (batch, L)")
                             for x in (targets, *lengths))
        targets = _padded(targets, np.atleast_1d(lengths[1]))
    lengths = [reshape(x, shape=(-1,)) if not x.ndim else x for x in lengths]
    losses = ctc(log_probs, targets, *lengths, blank=blank)
    losses = where(losses > -NEVER / 2, 0.0 if zero_infinity else float("inf"), losses)
    if reduction == "mean":
        losses = losses / cast(maximum(lengths[1], 1), dtype=losses.dtype)
    return reshape(losses, shape=()) if alone and reduction == "none" else _reduce(losses, reduction)


def _padded(targets, lengths):
    """Labels one after the other, as rows."""
    if lengths.ndim != 1 or (lengths < 0).any() or lengths.sum() != len(targets):
        raise ValueError(f"ctc_loss: target_lengths {lengths.tolist()[:8]} must add up to the {len(targets)} labels")
    there = np.arange(lengths.max(initial=0)) < lengths[:, None]
    rows = np.zeros(there.shape, targets.dtype)
    rows[there] = targets
    return rows
