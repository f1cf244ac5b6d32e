"""Shared by the demos: runs over several seeds and their spread, slides, tables, and the report of a training run.

    found = over_seeds(args, cases, run)                     # case -> the results of run(case), a row per seed
    table("error, %, by depth", depths, found)               # mean and standard deviation over the seeds
    with slide(args.out, "Deeper is worse", 1, 2) as (left, right):
        spread(left, depths, found["plain"], color=BLUE, label="plain")
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from demos import cli
from tinygrad_like import manual_seed
from tinygrad_like.environment import without_interrupts

if TYPE_CHECKING:  # an optional dependency: --help must work without it
    from matplotlib.figure import Figure

INK, MUTED, HAIR, PAPER = "#1f2933", "#6b7785", "#e3e7ec", "#ffffff"
BLUE, ORANGE, TEAL, PURPLE, GOLD = "#2563ab", "#e8722c", "#0b8a7a", "#8250a8", "#c59a00"
COLOURS = {"demos blues": [PAPER, "#b9d0ea", BLUE], "demos oranges": [PAPER, "#fbd9c2", ORANGE],
           "demos diverging": [BLUE, "#a9c5e3", "#f7f5f2", "#f6c6a5", ORANGE], "demos greys": [PAPER, INK]}
BLUES, ORANGES, DIVERGING, GREYS = COLOURS

DOTTED = (0, (1, 2))
SLIDE = 12.8, 7.2  # inches, 16:9

STYLE = {
    "font.family": "sans-serif", "font.size": 13, "text.color": INK,
    "axes.edgecolor": MUTED, "axes.labelcolor": INK, "axes.titlecolor": INK, "axes.titlesize": 14.5,
    "axes.titlelocation": "left", "axes.titlepad": 10, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": HAIR, "grid.linewidth": 0.8,
    "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "xtick.labelsize": 12, "ytick.labelsize": 12, "lines.linewidth": 2.4, "lines.solid_capstyle": "round",
    "lines.markersize": 6, "legend.frameon": False, "figure.facecolor": PAPER, "savefig.facecolor": PAPER,
}


def _import() -> None:
    """Import all compiled modules for drawing now; matplotlib imports some only when it draws."""
    with without_interrupts():
        for name in ("backends.backend_agg", "colors", "figure", "_constrained_layout"):
            import_module(f"matplotlib.{name}")
        for name in ("contourpy", "PIL.PngImagePlugin"):
            import_module(name)


def style() -> AbstractContextManager:
    """A context in which pictures have the demos' style."""
    _import()
    from matplotlib import rc_context

    return rc_context(STYLE)


def figure(width: float = SLIDE[0], height: float = SLIDE[1], title: str = "") -> Figure:
    """A figure with a title only, its size in inches. It draws to a file and needs no display."""
    _import()
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    for name, colours in COLOURS.items():
        if name not in colormaps:
            colormaps.register(LinearSegmentedColormap.from_list(name, colours))
    fig = Figure((width, height), layout="constrained")
    FigureCanvasAgg(fig)
    fig.get_layout_engine().set(w_pad=0.12, h_pad=0.12, wspace=0.04, hspace=0.04)
    if title:
        fig.suptitle(title, x=0.012, ha="left", fontsize=19, fontweight="bold", color=INK)
    return fig


def save(fig: Figure, path: Path) -> Path:
    """Write a PNG, completely or not at all, creating its folder if needed; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    try:
        fig.savefig(fresh, dpi=160, format="png")
        os.replace(fresh, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # the error of a full disk names no file
    finally:
        fresh.unlink(missing_ok=True)
    return path


@contextmanager
def slide(path: Path, title: str, rows: Any = 1, columns: int = 1, note: str = "", **options: Any) -> Iterator[Any]:
    """The axes of a figure to draw on. At the end it gets its legend, is saved, and its path printed.

    rows: their number, or a mosaic such as "ab;ac". note: a line of text at the foot. options: of `Figure.subplots`.
    """
    with style():
        fig = figure(title=title)
        yield fig.subplots(rows, columns, **options) if isinstance(rows, int) else fig.subplot_mosaic(rows, **options)
        legend(fig, note)
        print(f"picture: {save(fig, path)}", flush=True)


def legend(fig: Figure, note: str = "") -> None:
    """Put one legend below all axes that share a label, and a line of text at the foot.

    Lines with the same label must look the same. Axes that share no label get a legend each. Axes that have a legend
    are skipped."""
    groups: dict[float, dict] = {}  # left edge of a legend -> label -> line
    for axes in fig.axes:
        lines = {text: line for line, text in zip(*axes.get_legend_handles_labels(), strict=True)}
        if lines and not axes.get_legend():
            place = axes.get_subplotspec()
            start = place.colspan.start / place.get_gridspec().ncols
            for other in [x for x, known in groups.items() if x == start or known.keys() & lines.keys()]:
                start, lines = min(start, other), {**groups.pop(other), **lines}
            groups[start] = lines
    starts = sorted(groups)
    for start, end in zip(starts, [*starts[1:], 1], strict=False):
        lines, width = groups[start], (end - start) * fig.get_size_inches()[0]
        columns, longest = len(lines), max(map(len, lines))
        while columns > 1 and columns * (longest + 6) > 11 * width:
            columns -= 1
        columns = -(-len(lines) // -(-len(lines) // columns))  # rows of equal length
        fig.legend(lines.values(), lines, loc=f"outside lower {'right' if start else 'left'}", ncols=columns,
                   fontsize=13, handlelength=2, alignment="left", title_fontproperties=dict(size=12),
                   title=note if note and start == starts[0] else None)
    if note and not groups:
        fig.supxlabel(note, x=0.012, ha="left", fontsize=12)


def over_seeds(args: Namespace, cases: Iterable[Hashable], run: Callable[[Any], Any]) -> dict[Any, np.ndarray]:
    """The results of run(case) for each case: (seeds, ...), with args.seeds seeds that start at args.seed."""
    found: dict[Any, list] = {case: [] for case in cases}
    with cli.progress(total=len(found) * args.seeds, unit="run") as bar:
        for seed in range(args.seed, args.seed + args.seeds):
            for case, runs in found.items():
                manual_seed(seed)
                runs.append(run(case))
                bar.update()
    return {case: np.array(runs) for case, runs in found.items()}


def spread(axes: Any, x: Sequence | np.ndarray, runs: np.ndarray, **line: Any) -> None:
    """A line through the medians of runs (seeds, x), and a band from the smallest to the largest."""
    shown, = axes.plot(x, np.median(runs, axis=0), **line)
    axes.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=shown.get_color(), alpha=0.15, linewidth=0)


def table(title: str, columns: Iterable, rows: Mapping[Any, np.ndarray], form: str = ".1f", unit: float = 100) -> None:
    """Print the mean of each row (seeds, columns), times `unit`, and the standard deviation over several seeds.

    With a form in powers of ten, such as ".1e", print only the median."""
    print(title)
    heads, first = [f"{c:g}" if isinstance(c, float) else str(c) for c in columns], max(len(str(name)) for name in rows)
    middle, several = (np.median, False) if "e" in form else (np.mean, True)
    cells = {name: [f"{mean:{form}}" + f" ±{deviation:{form}}" * (several and len(runs) > 1)
                    for mean, deviation in zip(unit * middle(runs, axis=0), unit * runs.std(axis=0), strict=True)]
             for name, runs in rows.items()}
    width = 2 + max(len(text) for texts in (heads, *cells.values()) for text in texts)
    for name, texts in {"": heads, **cells}.items():
        print(f"  {name:{first}}" + "".join(f"{text:>{width}}" for text in texts))


def ticks(axes: Any, x: Sequence, along: str = "x") -> None:
    """A logarithmic axis with ticks only at these numbers."""
    getattr(axes, f"set_{along}scale")("log")
    getattr(axes, f"set_{along}ticks")(x, [f"{n:g}" for n in x])
    axes.minorticks_off()


def training_curves(path: Path, title: str, rows: Sequence[Mapping[str, Any]], least_loss: float = 0.0) -> Path:
    """Draw loss and accuracy by epoch, during a run."""
    with style():
        fig = figure(title=f"{title}: {len(rows)} epochs")
        draw_curves(*fig.subplots(1, 2), rows, least_loss)
        return save(fig, path)


def level(axes: Any, y: float, words: str, above: bool = False, left: bool = False) -> None:
    """A dotted line at y, labelled at its right or left end."""
    axes.axhline(y, color=MUTED, linestyle=DOTTED, linewidth=1.2, zorder=1)
    axes.annotate(words, (0 if left else 1, y), (4 if left else -2, 3 if above else -3),
                  xycoords=("axes fraction", "data"), textcoords="offset points", ha="left" if left else "right",
                  va="bottom" if above else "top", color=MUTED, fontsize=12, annotation_clip=True,
                  bbox=dict(facecolor=PAPER, edgecolor="none", alpha=0.7, pad=0.5))


def scale(fig: Any, shown: Any, axes: Any) -> None:
    """A colour bar beside the axes that share it."""
    fig.colorbar(shown, ax=axes, shrink=0.7, pad=0.02, aspect=30).outline.set_visible(False)


def bare(axes: Any) -> None:
    """Leave only the picture: no ticks, grid or frame."""
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def training_report(path: Path, title: str, rows: Sequence[Mapping[str, Any]], images: np.ndarray, labels: np.ndarray,
                    predictions: np.ndarray, names: Sequence[str], least_loss: float = 0.0) -> Path:
    """Draw one run: loss and accuracy by epoch, the confusion matrix, and test images that were misread.

    rows: each with epoch, loss, train_accuracy, test_accuracy. images: test images (n, 1, height, width).
    least_loss: the lowest possible training loss.
    """
    wrong = np.flatnonzero(predictions != labels)
    with style():
        accuracy = 1 - len(wrong) / len(labels)
        fig = figure(title=f"{title}: {accuracy:.1%} of {len(labels):,} test images read correctly")
        top, bottom = fig.subfigures(2, 1, height_ratios=[3.5, 1.5])
        loss, accuracies, confusion = top.subplots(1, 3, width_ratios=[1, 1, 1.25])
        draw_curves(loss, accuracies, rows, least_loss)
        draw_confusion(confusion, labels, predictions, names)
        draw_misread(bottom, images, labels, predictions, wrong, names)
        return save(fig, path)


def draw_curves(loss: Any, accuracies: Any, rows: Sequence[Mapping[str, Any]], least_loss: float) -> None:
    x = [row["epoch"] for row in rows]
    loss.plot(x, [row["loss"] for row in rows], color=BLUE)
    if least_loss > 0:
        level(loss, least_loss, f"minimum with label smoothing: {least_loss:.2f}")
    loss.set(title="Training loss", xlabel="epoch", ylim=(0, None))
    train, test = ([100 * row[f"{part}_accuracy"] for row in rows] for part in ("train", "test"))
    for values, colour, name in ((train, BLUE, "training"), (test, ORANGE, "test")):
        accuracies.plot(x, values, color=colour, label=f"{name}, final {values[-1]:.1f}%")
    # The differences of interest are close to 100%: the axis need not show the first fifth of the epochs.
    floor = max(0.0, min([*test[len(test) // 5:], *train[len(train) // 5:]]) - 2)
    accuracies.set(title="Accuracy, %", xlabel="epoch", ylim=(floor, 100 + 0.03 * (100 - floor)))
    accuracies.legend(loc="lower right", frameon=True, framealpha=0.8, edgecolor=PAPER)
    for axes in (loss, accuracies):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.margins(x=0.02)


def draw_confusion(axes: Any, labels: np.ndarray, predictions: np.ndarray, names: Sequence[str]) -> None:
    """Right answers in blue, mistakes in orange: on a common scale the few mistakes would be invisible."""
    k = len(names)
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (labels, predictions), 1)
    right = np.eye(k, dtype=bool)
    axes.imshow(np.where(right, counts, np.nan), cmap=BLUES, vmin=0, vmax=1.6 * counts.max())
    mistakes = np.where(right | (counts == 0), np.nan, counts)
    axes.imshow(mistakes, cmap=ORANGES, vmin=0, vmax=max(2, np.nanmax(mistakes, initial=0)))
    for (i, j), count in np.ndenumerate(counts):
        if count:
            axes.text(j, i, str(count), ha="center", va="center", fontsize=10, color=INK)
    short = [n if len(n) < 3 else n[:8] for n in names]
    axes.set_xticks(range(k), short, rotation=0 if max(map(len, short)) < 3 else 60)
    axes.set_yticks(range(k), short)
    axes.set(title="Confusion matrix", xlabel="predicted", ylabel="true")
    axes.set_anchor("N")  # aligns its title with the other two
    axes.grid(False)
    axes.tick_params(length=0)
    axes.set_xticks(np.arange(0.5, k - 1), minor=True)
    axes.set_yticks(np.arange(0.5, k - 1), minor=True)
    axes.grid(which="minor", color=HAIR, linewidth=0.6)
    axes.tick_params(which="minor", length=0)


def draw_misread(fig: Any, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray, wrong: np.ndarray,
                 names: Sequence[str], most: int = 12) -> None:
    title = "No test image was misread"
    if len(wrong):
        shown = f"the first {most} of {len(wrong):,}" if len(wrong) > most else f"all {len(wrong)}"
        title = f"Misread test images: true class → predicted class ({shown})"
    fig.suptitle(title, x=0.012, ha="left", fontsize=14, color=INK)
    for axes, i in zip(fig.subplots(1, most), [*wrong[:most], *[None] * most], strict=False):
        bare(axes)
        if i is not None:
            axes.imshow(images[i, 0], cmap=GREYS, vmin=0, vmax=1)
            arrow = " → " if max(map(len, names)) < 3 else " →\n"  # each word needs its own line
            read = f"{names[labels[i]]}{arrow}{names[predictions[i]]}"
            axes.set_title(read, loc="center", fontsize=11, pad=4, color=ORANGE)
