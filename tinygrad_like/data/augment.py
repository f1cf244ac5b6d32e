"""Augmentation: random changes of training images that keep their meaning.

A transform takes images, float32 of shape (batch, channels, height, width), and returns new ones; it never changes its
input. Each image is changed independently. All randomness comes from the NumPy Generator given as the last argument, or
from the package's. Colours are numbers from 0 to 1: scale or standardise afterwards.

With `rows`, the images are these rows of a batch, and random numbers are drawn for the whole batch: so ranks of an MPI
job that share a batch change it as one process does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from .. import random
from ..random import Rows
from . import instructions
from .instructions import ERASE, NOTHING, WARP, run_programs

Transform = Callable[[np.ndarray, np.random.Generator], np.ndarray]
Range = float | tuple[float, float]


class Instructed:
    """A transform that is a program for each image (instructions.py). Compose joins neighbouring programs.

    p: the probability that an image is changed. Raises ValueError if it is not a probability.
    """

    takes_rows = True

    def __init__(self, p: float = 1.0):
        check_probability(type(self).__name__, p)
        self.p = p

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        """The code of an instruction, and its numbers for each image, (batch, 6)."""
        raise NotImplementedError

    def program(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Codes (batch, instructions) and numbers (batch, instructions, 6) for images of this shape."""
        code, numbers = self.draw(shape, generator)
        chosen = generator.random(shape[0]) < self.p
        return np.where(chosen, code, NOTHING)[:, None], numbers[:, None]

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        return _run([self], images, generator_or_default(generator), rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


def _run(transforms: Sequence[Instructed], images: np.ndarray, generator: np.random.Generator,
         rows: Rows | None) -> np.ndarray:
    check_images(type(transforms[0]).__name__, images)
    total, part = _drawn(images, rows)
    programs = [t.program((total, *images.shape[1:]), generator) for t in transforms]
    codes, numbers = (np.concatenate(parts, axis=1)[part] for parts in zip(*programs, strict=True))
    return run_programs(images, codes, numbers)


def _drawn(images: np.ndarray, rows: Rows | None) -> tuple[int, slice]:
    """The number of images that draws are for, and the positions of these images among them."""
    return (len(images), slice(None)) if rows is None else (rows.total, rows.part)


def generator_or_default(generator: np.random.Generator | None) -> np.random.Generator:
    return random.numbers() if generator is None else generator


def check_images(who: str, images: np.ndarray) -> None:
    if not isinstance(images, np.ndarray) or images.ndim != 4:
        raise ValueError(f"{who}: images must be an array (batch, channels, height, width), got "
                         f"{getattr(images, 'shape', type(images).__name__)}")
    if images.dtype != np.float32:
        raise TypeError(f"{who}: images must be float32, got {images.dtype}; cast with .astype(np.float32), and divide "
                        "colours from 0 to 255 by 255")


def check_examples(who: str, x: np.ndarray) -> None:
    """Raise an error, in the name of `who`, if x is no float32 array (batch, ...)."""
    if not isinstance(x, np.ndarray) or x.ndim < 2:
        raise ValueError(f"{who}: takes an array (batch, ...) of vectors or images, got "
                         f"{getattr(x, 'shape', type(x).__name__)}")
    if x.dtype != np.float32:
        raise TypeError(f"{who}: takes float32, got {x.dtype}; cast with .astype(np.float32), and divide colours "
                        "from 0 to 255 by 255")


def per_example(numbers: np.ndarray, x: np.ndarray) -> np.ndarray:
    """numbers (batch,), so that they multiply the examples of x (batch, ...)."""
    return numbers.reshape(-1, *[1] * (x.ndim - 1))


def check_probability(who: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{who}: p={p} must be a probability, from 0 to 1")


def _numbers(batch: int, *values: float | np.ndarray) -> np.ndarray:
    numbers = np.zeros((batch, 6))
    for column, value in enumerate(values):
        numbers[:, column] = value
    return numbers


def _range(who: str, value: Range, centre: float, least: float) -> tuple[float, float]:
    """(low, high) as given, or centre -+ value."""
    low, high = (centre - value, centre + value) if isinstance(value, int | float) else value
    if not (math.isfinite(low) and math.isfinite(high) and least <= low <= high):
        raise ValueError(f"{who}: {value} means from {low:g} to {high:g}; it must be a number or (low, high), "
                         f"low <= high{f', and not below {least:g}' if math.isfinite(least) else ''}")
    return low, high


class RandomHorizontalFlip(Instructed):
    """Mirror left and right: out[..., j] = image[..., width - 1 - j], with probability p."""

    def __init__(self, p: float = 0.5):
        super().__init__(p)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        return WARP, _numbers(shape[0], -1, 0, 0, 0, 1, 0)


class RandomShift(Instructed):
    """Move by a whole number of pixels from -pixels to pixels along both axes, uniformly; new pixels are 0."""

    def __init__(self, pixels: int, p: float = 1.0):
        super().__init__(p)
        if not isinstance(pixels, int) or pixels < 0:
            raise ValueError(f"RandomShift: pixels={pixels} must be a whole number of at least 0")
        self.pixels = pixels

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        down, right = generator.integers(-self.pixels, self.pixels + 1, (2, shape[0]))
        return WARP, _numbers(shape[0], 1, 0, -right, 0, 1, -down)


class RandomRotation(Instructed):
    """Turn about the centre by t degrees, uniform in (low, high) or, given one number, in (-degrees, degrees).

    Counter-clockwise, like np.rot90: with x to the right and y down, from the centre,
    out(x, y) = image(x cos t - y sin t, x sin t + y cos t), bilinear between pixels, 0 outside.
    """

    def __init__(self, degrees: Range, p: float = 1.0):
        super().__init__(p)
        self.degrees = _range("RandomRotation: degrees", degrees, 0, -math.inf)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        angle = np.deg2rad(generator.uniform(*self.degrees, shape[0]))
        cos, sin = np.cos(angle), np.sin(angle)
        return WARP, _numbers(shape[0], cos, -sin, 0, sin, cos, 0)


class RandomZoom(Instructed):
    """Magnify about the centre by f, uniform in (low, high) or, given one number, in (1 - factor, 1 + factor).

    out(x, y) = image(x / f, y / f) from the centre, bilinear between pixels, 0 outside.
    """

    def __init__(self, factor: Range, p: float = 1.0):
        super().__init__(p)
        self.factor = _range("RandomZoom: factor", factor, 1, 0.01)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        scale = 1 / generator.uniform(*self.factor, shape[0])
        return WARP, _numbers(shape[0], scale, 0, 0, 0, scale, 0)


class _ByFactor(Instructed):
    code: str  # of instructions.py

    def __init__(self, factor: Range, p: float = 1.0):
        super().__init__(p)
        self.factor = _range(f"{type(self).__name__}: factor", factor, 1, 0)

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        return getattr(instructions, self.code), _numbers(shape[0], generator.uniform(*self.factor, shape[0]))


class RandomBrightness(_ByFactor):
    """f image, kept within 0 ... 1; f is uniform in (low, high) or, given one number, in (1 - factor, 1 + factor)."""

    code = "BRIGHTNESS"


class RandomContrast(_ByFactor):
    """m + f (image - m), kept within 0 ... 1, where m is the mean of the image in grey; f as for RandomBrightness.

    Grey is 0.299 red + 0.587 green + 0.114 blue; the mean of the channels, if there are not three.
    """

    code = "CONTRAST"


class Cutout(Instructed):
    """Set a square of size x size pixels to 0, centred on a pixel drawn uniformly; it may reach beyond the edge.

    The square is cut out of all channels.
    Source: T. DeVries, G. Taylor, Improved Regularization of Convolutional Neural Networks with Cutout, 2017.
    """

    def __init__(self, size: int, p: float = 1.0):
        super().__init__(p)
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"Cutout: size={size} must be a whole number of at least 1")
        self.size = size

    def draw(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[int, np.ndarray]:
        batch, _, height, width = shape
        top = generator.integers(0, height, batch) - self.size // 2
        left = generator.integers(0, width, batch) - self.size // 2
        return ERASE, _numbers(batch, top, left, top + self.size, left + self.size)


def _randaugment(strength: float, height: int, width: int) -> dict[str, tuple]:
    """The instruction for each operation of RandAugment at a strength from -1 to 1."""
    k, s, size = instructions, strength, abs(strength)
    cos, sin = math.cos(math.radians(30 * s)), math.sin(math.radians(30 * s))
    return {
        "identity": (k.NOTHING,),
        "shear_x": (k.WARP, 1, 0.3 * s, 0, 0, 1, 0),
        "shear_y": (k.WARP, 1, 0, 0, 0.3 * s, 1, 0),
        "translate_x": (k.WARP, 1, 0, 150 / 331 * width * s, 0, 1, 0),
        "translate_y": (k.WARP, 1, 0, 0, 0, 1, 150 / 331 * height * s),
        "rotate": (k.WARP, cos, -sin, 0, sin, cos, 0),
        "brightness": (k.BRIGHTNESS, 1 + 0.9 * s),
        "color": (k.COLOR, 1 + 0.9 * s),
        "contrast": (k.CONTRAST, 1 + 0.9 * s),
        "sharpness": (k.SHARPNESS, 1 + 0.9 * s),
        "posterize": (k.POSTERIZE, 8 - round(4 * size)),
        "solarize": (k.SOLARIZE, 1 - size),
        "auto_contrast": (k.AUTO_CONTRAST,),
        "equalize": (k.EQUALIZE,),
    }


RANDAUGMENT = tuple(_randaugment(0, 1, 1))  # the names of all operations


class RandAugment(Instructed):
    """n operations for each image, drawn uniformly, with replacement, from a list; all of one magnitude, 0 to 30.

    At magnitude m, with s = m / 30 and a sign drawn for each (except for the last four of the list):
    shear by 0.3 s, translation by 0.45 s of the side, rotation by 30 s degrees, brightness, color, contrast and
    sharpness by a factor 1 -+ 0.9 s, posterize to 8 - round(4 s) bits, solarize above 1 - s; auto-contrast and
    equalisation have no strength. operations: names from RANDAUGMENT.

    Source: E. Cubuk, B. Zoph, J. Shlens, Q. Le, RandAugment, 2020; strengths as in torchvision.
    """

    def __init__(self, n: int = 2, magnitude: float = 9, operations: Sequence[str] = RANDAUGMENT):
        super().__init__()
        if not isinstance(n, int) or n < 0 or not 0 <= magnitude <= 30:
            raise ValueError(f"RandAugment: n={n} must be a whole number of at least 0, and "
                             f"magnitude={magnitude} must lie between 0 and 30")
        if unknown := sorted({*operations} - {*RANDAUGMENT}) or not operations:
            raise ValueError(f"RandAugment: operations={operations!r} must be some of {', '.join(RANDAUGMENT)}"
                             f"{f'; unknown: {unknown}' if operations else ''}")
        self.n, self.magnitude, self.operations = n, magnitude, tuple(operations)

    def program(self, shape: Sequence[int], generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        batch, _, height, width = shape
        table = np.zeros((2, len(self.operations), 7))
        for sign in (0, 1):
            instructions = _randaugment((2 * sign - 1) * self.magnitude / 30, height, width)
            for row, name in zip(table[sign], self.operations, strict=True):
                row[:len(instructions[name])] = instructions[name]
        drawn = table[generator.integers(0, 2, (batch, self.n)),
                      generator.integers(0, len(self.operations), (batch, self.n))]
        return drawn[..., 0].astype(np.int64), drawn[..., 1:]


class RandomCrop:
    """A window of `size` pixels (one number, or height and width) at a uniformly random place of each image.

    The images, (batch, channels, height, width), are first surrounded by `padding` zeros; the result is
    (batch, channels, *size). Raises ValueError if the window is larger than the padded image.
    """

    def __init__(self, size: int | tuple[int, int], padding: int = 0):
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding = padding
        if len(self.size) != 2 or min(self.size) < 1 or padding < 0:
            raise ValueError(f"RandomCrop: size={size} must be one or two numbers of at least 1, and "
                             f"padding={padding} not negative")

    takes_rows = True

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        check_images("RandomCrop", images)
        batch, _, *sides = images.shape
        total, part = _drawn(images, rows)
        places = [side + 2 * self.padding - size + 1 for side, size in zip(sides, self.size, strict=True)]
        if min(places) < 1:
            raise ValueError(f"RandomCrop: a window of size {self.size} does not fit images of shape {images.shape} "
                             f"with padding={self.padding}")
        generator = generator_or_default(generator)
        top, left = (generator.integers(0, n, total)[part] for n in places)
        padded = np.pad(images, ((0, 0), (0, 0), *[(self.padding, self.padding)] * 2))
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.size, axis=(2, 3))
        return windows[np.arange(batch), :, top, left]

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding})"


class GaussianNoise:
    """x + std n, with standard normal n for each number, with probability p for each image or vector (002).

    x: float32 of shape (batch, ...): vectors, signals, images. Raises ValueError for a negative std.
    """

    def __init__(self, std: float = 0.1, p: float = 1.0):
        check_probability("GaussianNoise", p)
        if not 0 <= std < math.inf:
            raise ValueError(f"GaussianNoise: std={std} must not be negative")
        self.std, self.p = std, p

    takes_rows = True

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        check_examples("GaussianNoise", images)
        generator, (total, part) = generator_or_default(generator), _drawn(images, rows)
        chosen = generator.random(total)[part] < self.p
        noise = generator.standard_normal((total, *images.shape[1:]), dtype=np.float32)[part]
        noise *= per_example(np.where(chosen, self.std, 0).astype(np.float32), noise)
        noise += images
        return noise

    def __repr__(self) -> str:
        return f"GaussianNoise(std={self.std}, p={self.p})"


class Compose:
    """Transforms one after the other.

    Neighbouring programs of instructions (all transforms here except crop and noise) are joined: each image is read and
    written once, and turning, shifting, zooming and flipping blur it only once.
    """

    def __init__(self, transforms: Sequence[Transform]):
        self.transforms = list(transforms)
        self.takes_rows = all(getattr(transform, "takes_rows", False) for transform in self.transforms)

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        generator = generator_or_default(generator)
        for instructed, group in groupby(self.transforms, lambda t: isinstance(t, Instructed)):
            if instructed:
                images = _run(list(group), images, generator, rows)  # type: ignore[arg-type]
            else:
                for transform in group:
                    images = transform(images, generator, *[] if rows is None else [rows])
        return images

    def __repr__(self) -> str:
        return f"Compose({self.transforms})"
