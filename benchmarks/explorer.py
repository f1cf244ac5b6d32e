"""The explorer's pages for graphs of 2,000 nodes, in headless Chromium: size, time to open, frames per second.

    python -m benchmarks.explorer                  prints the figures of docs/learn.md
    python -m benchmarks.explorer --rate 4         on a CPU that Chromium slows down four times

All nodes are in one view, as if every module were open. Each row moves the view in every frame, for two seconds, and
counts the frames that Chromium draws: headless, it draws at most 60 per second, without a graphics card. "Work" is the
CPU time of the page's main thread per frame, for script and layout; a frame has 16.7 ms.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.learn.browser import Page
from tinygrad_like import Tensor
from tinygrad_like.learn import explore

_SECONDS = 2
# (name, zoom at the start, script that makes frame number n)
_MOVES = [
    ("panning, text to read", "1", "left -= 9 * dx; top_ -= 11 * dy; moved()"),
    ("panning, the most boxes with text", "0.6", "left -= 9 * dx; top_ -= 11 * dy; moved()"),
    ("panning, all in view", "0", "left -= 2 * dx; top_ -= 2 * dy; moved()"),
    ("zooming", "1", "zoom(n % 120 < 60 ? 0.97 : 1 / 0.97, 450, 400)"),
    ("stepping, a step per frame", "1", "go(n % steps.length)"),
]
_FRAMES = """new Promise((done) => {
    const times = [];
    let dx = 1, dy = 1;
    const frame = (t) => {
        const n = times.push(t);
        const [w, h] = here().size, { clientWidth: width, clientHeight: height } = stage;
        if (left > width / 2) dx = 1; else if (left + w * scale < width / 2) dx = -1;
        if (top_ > height / 2) dy = 1; else if (top_ + h * scale < height / 2) dy = -1;
        MOVE;
        if (t - times[0] < SECONDS * 1000) requestAnimationFrame(frame); else done(times);
    };
    requestAnimationFrame(frame);
})"""


def chain() -> Tensor:
    """2,002 nodes, one below the other."""
    x = Tensor.randn(4, 16, requires_grad=True)
    y = x
    for _ in range(500):
        y = (y * x).tanh() + y * 0.5
    return y.sum()


def mesh() -> Tensor:
    """2,079 nodes in 40 columns: many boxes and crossing arrows are visible at once."""
    ys = [Tensor.randn(4, 16, requires_grad=True) for _ in range(40)]
    for layer in range(50):
        ys = [ys[k].maximum(ys[(k + 1) % 40]) if layer % 3 else ys[k] + ys[(k + 7) % 40] for k in range(40)]
    return sum(ys[1:], ys[0]).sum()


def measure(page: Page, zoom: str, move: str) -> tuple[float, float, float]:
    """Frames per second, the longest time between two frames, and the main thread's work per frame (ms)."""
    page.run("fit(); go(0)" if zoom != "0" else "whole()")
    if zoom != "0":
        page.run(f"scale = {zoom}; centre(Math.floor(here().boxes.length / 2))")
    page.run("new Promise((done) => setTimeout(done, 200))")
    before = metrics(page)
    times = page.run(_FRAMES.replace("MOVE", move).replace("SECONDS", str(_SECONDS)))
    work = metrics(page) - before
    gaps = np.diff(times)
    return 1000 / gaps.mean(), gaps.max(), 1000 * work / len(times)


def metrics(page: Page) -> float:
    """Seconds of work of the main thread so far."""
    return {m["name"]: m["value"] for m in page.send("Performance.getMetrics")["metrics"]}["TaskDuration"]


def opened(path: Path, rate: float) -> float:
    """Seconds from the request for the page to its first drawing."""
    with Page(path.as_uri(), rate=rate) as page:
        painted = "performance.getEntriesByName('drawn')"
        page.wait(f"{painted}.length")
        return page.run(f"{painted}[0].startTime") / 1000


def report(name: str, graph: Callable[[], Tensor], rate: float) -> None:
    path = explore(graph, Path(tempfile.mkdtemp()) / f"{name}.html", title=name)
    times = sorted(opened(path, rate) for _ in range(5))
    with Page(path.as_uri(), rate=rate) as page:
        nodes = page.run("data.nodes.length")
        print(f"{name}: {nodes:,} nodes, {path.stat().st_size / 1e6:.2f} MB, "
              f"opens in {times[2]:.2f} s (median of 5; longest {times[-1]:.2f})", flush=True)
        for what, zoom, move in _MOVES:
            frames, longest, work = measure(page, zoom, move)
            print(f"    {what:<34} {frames:4.1f} frames/s, longest gap {longest:4.1f} ms, work {work:4.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=1, help="slowdown of the CPU")
    rate = parser.parse_args().rate
    for graph in chain, mesh:
        report(graph.__name__, graph, rate)


if __name__ == "__main__":
    main()
