"""Augmentation: random changes of training images that preserve their label.

A transform takes images, float32 of shape (batch, channels, height, width), and returns new ones; it never changes its
input. Each image is changed independently. All randomness comes from the NumPy Generator passed as the last argument,
or from the package's. Colours range from 0 to 1: scale or standardise afterwards.

With `rows`, the images are these rows of a batch, and random numbers are drawn for the whole batch, so MPI ranks that
share a batch change it as a single process would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, groupby

import numpy as np

from .. import random
from ..random import Rows
from . import changes
from .changes import Change, changed, erase, warp

Transform = Callable[[np.ndarray, np.random.Generator], np.ndarray]
Range = float | tuple[float, float]


class Shown:
    """A base whose repr shows the options."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


class _Random(Shown):
    """The base of transforms that draw for a whole batch of `total` images and change a part of it."""

    takes_rows = True
    images = True  # whether it takes only images

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        check(type(self).__name__, images, self.images)
        total, part = (len(images), slice(None)) if rows is None else (rows.total, rows.part)
        return self.transformed(images, generator or random.numbers(), total, part)

    def transformed(self, images: np.ndarray, generator: np.random.Generator, total: int, part: slice) -> np.ndarray:
        raise NotImplementedError


class _ByImage(_Random):
    """A transform that draws a list of changes for each image (changes.py). Compose joins adjacent lists.

    p: the probability that an image is changed. Raises ValueError unless it is one.
    """

    def __init__(self, p: float = 1.0):
        check_probability(type(self).__name__, p)
        self.p = p

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        """A change per image."""
        raise NotImplementedError

    def lists(self, shape: Sequence[int], generator: np.random.Generator) -> list[list[Change]]:
        """A list of changes per image, for images of this shape."""
        drawn = self.draw(shape, generator)
        return [[change] * bool(x < self.p) for change, x in zip(drawn, generator.random(shape[0]), strict=True)]

    def transformed(self, images: np.ndarray, generator: np.random.Generator, total: int, part: slice) -> np.ndarray:
        out = np.array(images, order="C")
        for image, of_image in zip(out, self.lists((total, *images.shape[1:]), generator)[part], strict=True):
            if image.size:
                image[...] = changed(image, of_image)
        return out


def check(who: str, x: np.ndarray, images: bool = True) -> None:
    """Raise an error, in the name of `who`, unless x is a float32 array of images, or of examples (batch, ...)."""
    if not isinstance(x, np.ndarray) or (x.ndim != 4 if images else x.ndim < 2):
        what = "images must be an array (batch, channels, height, width)" if images else \
            "takes an array (batch, ...) of vectors or images"
        raise ValueError(f"{who}: {what}, got {getattr(x, 'shape', type(x).__name__)}")
    if x.dtype != np.float32:
        raise TypeError(f"{who}: its dtype must be float32, got {x.dtype}; cast with .astype(np.float32), and divide "
                        "colours from 0 to 255 by 255")


def per_example(numbers: np.ndarray, x: np.ndarray) -> np.ndarray:
    """numbers (batch,) reshaped to multiply the examples of x (batch, ...)."""
    return numbers.reshape(-1, *[1] * (x.ndim - 1))


def check_probability(who: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{who}: p={p} must be a probability, from 0 to 1")


def _range(who: str, value: Range, centre: float, least: float) -> tuple[float, float]:
    """The given (low, high), or centre -+ value."""
    low, high = (centre - value, centre + value) if isinstance(value, int | float) else value
    if not (math.isfinite(low) and math.isfinite(high) and least <= low <= high):
        raise ValueError(f"{who}: {value} means from {low:g} to {high:g}; it must be a number or (low, high), "
                         f"low <= high{f', and not below {least:g}' if math.isfinite(least) else ''}")
    return low, high


class RandomHorizontalFlip(_ByImage):
    """Mirror left and right: out[..., j] = image[..., width - 1 - j], with probability p."""

    def __init__(self, p: float = 0.5):
        super().__init__(p)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        return [(warp, -1, 0, 0, 0, 1, 0)] * shape[0]


class RandomShift(_ByImage):
    """Shift along both axes by an integer number of pixels, uniform from -pixels to pixels; new pixels are 0."""

    def __init__(self, pixels: int, p: float = 1.0):
        super().__init__(p)
        if not isinstance(pixels, int) or pixels < 0:
            raise ValueError(f"RandomShift: pixels={pixels} must be a non-negative integer")
        self.pixels = pixels

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        moves = generator.integers(-self.pixels, self.pixels + 1, (2, shape[0]))
        return [(warp, 1, 0, -right, 0, 1, -down) for down, right in moves.T.tolist()]


class RandomRotation(_ByImage):
    """Rotate about the centre by t degrees, uniform in (low, high) or, for one number, in (-degrees, degrees).

    Counter-clockwise, like np.rot90: with x to the right and y down, from the centre,
    out(x, y) = image(x cos t - y sin t, x sin t + y cos t), bilinear between pixels, 0 outside.
    """

    def __init__(self, degrees: Range, p: float = 1.0):
        super().__init__(p)
        self.degrees = _range("RandomRotation: degrees", degrees, 0, -math.inf)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        return [_turn(degrees) for degrees in generator.uniform(*self.degrees, shape[0]).tolist()]


def _turn(degrees: float) -> Change:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return warp, cos, -sin, 0, sin, cos, 0


class RandomZoom(_ByImage):
    """Zoom about the centre by f, uniform in (low, high) or, for one number, in (1 - factor, 1 + factor).

    out(x, y) = image(x / f, y / f) from the centre, bilinear between pixels, 0 outside.
    """

    def __init__(self, factor: Range, p: float = 1.0):
        super().__init__(p)
        self.factor = _range("RandomZoom: factor", factor, 1, 0.01)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        return [(warp, 1 / f, 0, 0, 0, 1 / f, 0) for f in generator.uniform(*self.factor, shape[0]).tolist()]


class _ByFactor(_ByImage):
    change: Callable  # a function of an image and a factor

    def __init__(self, factor: Range, p: float = 1.0):
        super().__init__(p)
        self.factor = _range(f"{type(self).__name__}: factor", factor, 1, 0)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        return [(self.change, f) for f in generator.uniform(*self.factor, shape[0]).tolist()]


class RandomBrightness(_ByFactor):
    """f image, clipped to [0, 1]; f is uniform in (low, high) or, for one number, in (1 - factor, 1 + factor)."""

    change = staticmethod(changes.brightness)


class RandomContrast(_ByFactor):
    """m + f (image - m), clipped to [0, 1], where m is the mean of the grey image; f as in RandomBrightness.

    Grey is 0.299 red + 0.587 green + 0.114 blue, or the mean of the channels unless there are three.
    """

    change = staticmethod(changes.contrast)


class Cutout(_ByImage):
    """Set a square of size x size pixels to 0, centred on a random pixel; it may reach beyond the edge.

    The square is cut out of all channels.
    Source: T. DeVries, G. Taylor, Improved Regularization of Convolutional Neural Networks with Cutout, 2017.
    """

    def __init__(self, size: int, p: float = 1.0):
        super().__init__(p)
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"Cutout: size={size} must be a positive integer")
        self.size = size

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> list[Change]:
        batch, _, height, width = shape
        top = (generator.integers(0, height, batch) - self.size // 2).tolist()
        left = (generator.integers(0, width, batch) - self.size // 2).tolist()
        return [(erase, y, x, y + self.size, x + self.size) for y, x in zip(top, left, strict=True)]


def _randaugment(s: float, height: float, width: float) -> dict[str, Change]:
    """The change for each operation of RandAugment at strength s from -1 to 1; none for the identity."""
    return {
        "identity": (),
        "shear_x": (warp, 1, 0.3 * s, 0, 0, 1, 0),
        "shear_y": (warp, 1, 0, 0, 0.3 * s, 1, 0),
        "translate_x": (warp, 1, 0, 150 / 331 * width * s, 0, 1, 0),
        "translate_y": (warp, 1, 0, 0, 0, 1, 150 / 331 * height * s),
        "rotate": _turn(30 * s),
        **{name: (getattr(changes, name), 1 + 0.9 * s) for name in ("brightness", "color", "contrast", "sharpness")},
        "posterize": (changes.posterize, 8 - round(4 * abs(s))),
        "solarize": (changes.solarize, 1 - abs(s)),
        "auto_contrast": (changes.auto_contrast,),
        "equalize": (changes.equalize,),
    }


RANDAUGMENT = tuple(_randaugment(0, 1, 1))  # the names of all operations


class RandAugment(_ByImage):
    """n operations per image, drawn uniformly with replacement from a list, all of one magnitude from 0 to 30.

    At magnitude m, with s = m / 30 and a random sign for each (except the last four in the list):
    shear by 0.3 s, translation by 0.45 s of the side, rotation by 30 s degrees, brightness, color, contrast and
    sharpness by a factor 1 -+ 0.9 s, posterize to 8 - round(4 s) bits, solarize above 1 - s; auto-contrast and
    equalisation have no strength. operations: names from RANDAUGMENT.

    Source: E. Cubuk, B. Zoph, J. Shlens, Q. Le, RandAugment, 2020; strengths as in torchvision.
    """

    def __init__(self, n: int = 2, magnitude: float = 9, operations: Sequence[str] = RANDAUGMENT):
        super().__init__()
        if not isinstance(n, int) or n < 0 or not 0 <= magnitude <= 30:
            raise ValueError(f"RandAugment: n={n} must be a non-negative integer, and "
                             f"magnitude={magnitude} must lie between 0 and 30")
        if unknown := sorted({*operations} - {*RANDAUGMENT}) or not operations:
            raise ValueError(f"RandAugment: operations={operations!r} must be among {', '.join(RANDAUGMENT)}"
                             f"{f'; unknown: {unknown}' if operations else ''}")
        self.n, self.magnitude, self.operations = n, magnitude, tuple(operations)

    def lists(self, shape: Sequence[int], generator: np.random.Generator) -> list[list[Change]]:
        batch, _, height, width = shape
        tables = [_randaugment(sign * self.magnitude / 30, height, width) for sign in (-1, 1)]
        signs = generator.integers(0, 2, (batch, self.n)).tolist()
        which = generator.integers(0, len(self.operations), (batch, self.n)).tolist()
        drawn = [[tables[sign][self.operations[k]] for sign, k in zip(*row, strict=True)]
                 for row in zip(signs, which, strict=True)]
        return [[change for change in row if change] for row in drawn]


class RandomCrop(_Random):
    """A window of `size` pixels (one number, or height and width) at a uniformly random place in each image.

    The images, (batch, channels, height, width), are first padded by `padding` zeros; the result is (batch, channels,
    *size). Raises ValueError if the window is larger than the padded image.
    """

    def __init__(self, size: int | tuple[int, int], padding: int = 0):
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding = padding
        if len(self.size) != 2 or min(self.size) < 1 or padding < 0:
            raise ValueError(f"RandomCrop: size={size} must be one or two positive integers, and "
                             f"padding={padding} not negative")

    def transformed(self, images: np.ndarray, generator: np.random.Generator, total: int, part: slice) -> np.ndarray:
        batch, _, *sides = images.shape
        places = [side + 2 * self.padding - size + 1 for side, size in zip(sides, self.size, strict=True)]
        if min(places) < 1:
            raise ValueError(f"RandomCrop: a window of size {self.size} does not fit images of shape {images.shape} "
                             f"with padding={self.padding}")
        top, left = (generator.integers(0, n, total)[part] for n in places)
        padded = np.pad(images, ((0, 0), (0, 0), *[(self.padding, self.padding)] * 2))
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.size, axis=(2, 3))
        return windows[np.arange(batch), :, top, left]


class GaussianNoise(_Random):
    """x + std n, with standard normal n per element, applied to each image or vector with probability p (002).

    x: float32 of shape (batch, ...): vectors, signals, images. Raises ValueError for a negative std.
    """

    images = False

    def __init__(self, std: float = 0.1, p: float = 1.0):
        check_probability("GaussianNoise", p)
        if not 0 <= std < math.inf:
            raise ValueError(f"GaussianNoise: std={std} must not be negative")
        self.std, self.p = std, p

    def transformed(self, images: np.ndarray, generator: np.random.Generator, total: int, part: slice) -> np.ndarray:
        chosen = generator.random(total)[part] < self.p
        noise = generator.standard_normal((total, *images.shape[1:]), dtype=np.float32)[part]
        noise *= per_example(np.where(chosen, self.std, 0).astype(np.float32), noise)
        noise += images
        return noise


class Compose:
    """Transforms one after the other.

    Adjacent lists of changes (all transforms here except crop and noise) are joined: each image is read and written
    once, and rotations, shifts, zooms and flips blur it only once.
    """

    def __init__(self, transforms: Sequence[Transform]):
        self.transforms = list(transforms)
        self.takes_rows = all(getattr(transform, "takes_rows", False) for transform in self.transforms)

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        generator = generator or random.numbers()
        for by_image, group in groupby(self.transforms, lambda t: isinstance(t, _ByImage)):
            parts: list = [*group]
            for transform in [_Joined(parts)] if by_image else parts:
                images = transform(images, generator, *[] if rows is None else [rows])
        return images

    def __repr__(self) -> str:
        return f"Compose({self.transforms})"


class _Joined(_ByImage):
    def __init__(self, parts: Sequence[_ByImage]):
        self.parts = parts

    def lists(self, shape: Sequence[int], generator: np.random.Generator) -> list[list[Change]]:
        drawn = [part.lists(shape, generator) for part in self.parts]
        return [[*chain.from_iterable(row)] for row in zip(*drawn, strict=True)]


_Joined.__name__ = "Compose"  # in messages
