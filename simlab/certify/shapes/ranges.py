"""Shapes of a call, and ranges of shapes: bands of a map, and what a user asks for.

A shape gives each axis of a contract a size: ``V``, ``gamma`` and ``batch`` of a batch of blocks, ``V`` and ``length``
of a decoder. A range of shapes gives some axes a least and a most; the others are drawn as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, log, prod

import numpy as np

from simlab.certify.contracts.blocks import TILE
from simlab.registry import meant

MOST = 1 << 23  # numbers of the rows p of a call, which as float64 take 64 MiB, and as much again for q
LARGEST = 5 << 23  # of what a user asks for, if one process calls: with what is made on the way that fits 2 GiB
LONGEST = 4096  # of gamma, length and other axes beside V, of what a user asks for
MOST_ROWS = 1 << 15  # of a call: to draw and to check one takes about a millisecond here, whatever V is
SMALL_SHARE = 3 / 4  # of the shapes that are drawn with few numbers, as far as their range has such
SMALL = 1 << 19  # numbers that are few
LEAST_TIMES = 2  # as many as the smallest shape of a range has count as few where it has more
POWERS, TILES = 1 / 3, 1 / 4  # of the others, those next to a power of two; of the rest, those next to a tile's end

Band = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """A size that a contract has, the bands it is drawn from, and how many rows of V numbers it stands for."""

    name: str  # as it is written in a shape
    bands: tuple[Band, ...]  # the least and the most of each, in rising order
    more: int | None = 0  # rows beyond its size: gamma drafts have gamma + 1 rows. None where all share one row
    of_vocabulary: bool = False  # whether it is at most half of V, as distinct candidates are
    usual: tuple[int, ...] = ()  # sizes that models have

    @property
    def most(self) -> int:
        """The largest size that is drawn."""
        return self.bands[-1][1]

    @property
    def least(self) -> int:
        """The smallest size that there is."""
        return self.bands[0][0]

    def band(self, size: int) -> int:
        """The number of the band that a size is in."""
        return sum(high < size for _, high in self.bands)

    def rows(self, size: int) -> int:
        """How many rows a size stands for."""
        return 1 if self.more is None else size + self.more


USUAL_SHARE = 1 / 8  # the part of sizes that are those of models, as far as there are any
VOCABULARIES = {  # tokens of codebooks and of models
    "MaskGIT": 1024,
    "DALL-E": 8192,
    "LlamaGen": 16_384,
    "Llama 2": 32_000,
    "T5": 32_128,
    "Emu3, images": 32_768,
    "GPT-2": 50_257,
    "BART": 50_265,
    "Lumina-mGPT": 65_536,
    "GPT-4": 100_277,
    "Llama 3": 128_256,
    "DeepSeek-V3": 129_280,
    "Mistral Nemo": 131_072,
    "Qwen 3": 151_936,
    "Emu3": 184_622,
    "gpt-oss": 201_088,
    "Llama 4": 202_048,
    "Gemma 2": 256_000,
    "Gemma 3": 262_144,
}
V = Axis(
    "V",
    ((2, 7), (8, 64), (65, 1024), (1025, 16_384), (16_385, 65_536), (65_537, 262_144)),
    usual=tuple(VOCABULARIES.values()),
)
DEPTHS = (1, 3), (4, 8), (9, 16), (17, 32), (33, 96)
GAMMA = Axis("gamma", DEPTHS, 1)
BATCH = Axis("batch", ((1, 2), (3, 8), (9, 32), (33, 128), (129, 256)))
CANDIDATES = Axis("K", DEPTHS, None, of_vocabulary=True)
LENGTH = Axis("length", DEPTHS, None)
NODES = Axis("nodes", ((2, 4), (5, 8), (9, 16), (17, 32), (33, 96)))


@dataclass(frozen=True)
class Shape:
    """A size for every axis of a contract."""

    sizes: tuple[tuple[str, int], ...]

    def __getitem__(self, name: str) -> int:
        return dict(self.sizes)[name]

    @property
    def batch(self) -> int:
        """How many sequences it has."""
        return dict(self.sizes).get("batch", 1)

    @property
    def last(self) -> int:
        """The position of the last token of a sequence; of a tree, whose branches are shorter, at most."""
        (depth,) = ((name, size) for name, size in self.sizes if name not in ("V", "batch"))
        return depth[1] if depth[0] == "gamma" else depth[1] - 1

    def __str__(self) -> str:
        return ", ".join(f"{name} = {size}" for name, size in self.sizes)


@dataclass(frozen=True)
class Ranges:
    """Shapes whose sizes are within bounds."""

    # by the name of an axis, the least and the most. Axes that are not named are drawn from all of their bands
    of: Mapping[str, Band]
    name: str = ""  # what it is called: that of a preset, or the text of the user
    dtype: str = ""  # in which precision the rows are given; empty where it is the contract's
    source: str = field(default="", compare=False)  # where the numbers of a preset come from
    given: tuple[str, ...] = ()  # of :meth:`within`: the axes that were named; of the others it has every size

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {_band_text(band)}" for name, band in self.of.items())
        return sizes + (f", {self.dtype}" if self.dtype else "")

    def __contains__(self, shape: Shape) -> bool:
        return all(low <= shape[name] <= high for name, (low, high) in self.of.items())

    def within(self, axes: Sequence[Axis], at_most: Mapping[str, int]) -> Ranges | None:
        """What of it is within bounds, over all axes; ``None`` where nothing is that fits memory."""
        found = {}
        for axis in axes:
            low, high = self.of.get(axis.name, (axis.least, axis.most))
            high = min(high, at_most.get(axis.name, high))
            found[axis.name] = low, high
        for axis in axes:
            low, high = found[axis.name]
            if axis.of_vocabulary:  # and V is at least twice as large
                found[axis.name] = low, min(high, found["V"][1] // 2)
                found["V"] = max(found["V"][0], 2 * low), found["V"][1]
        if any(low > high for low, high in found.values()):
            return None
        clipped = Ranges(found, self.name, self.dtype, self.source, tuple(self.of))
        return clipped if clipped.least(axes) <= (LARGEST if self.name else MOST) else None

    def least(self, axes: Sequence[Axis]) -> int:
        """How many numbers the rows p of its smallest shape have; of ranges that :meth:`within` gave."""
        return _numbers(axes, {name: low for name, (low, _) in self.of.items()})

    def draw(self, axes: Sequence[Axis], where: Mapping[str, float], rng: np.random.Generator) -> Shape:
        """One of its shapes: each size by its logarithm, often an edge, and mostly such that the numbers are few.

        Of ranges that :meth:`within` gave. A number from 0 to 1 says which size an axis has. The axes take theirs in
        turn by chance, each within what the others leave.
        """
        sizes, least = {name: low for name, (low, _) in self.of.items()}, self.least(axes)
        most = most_numbers(least)
        if rng.random() < SMALL_SHARE:
            most = min(most, max(LEAST_TIMES * least, SMALL))
        for k in rng.permutation(len(axes)).tolist():
            axis = axes[k]
            low, high = self.of[axis.name]
            if axis.more is not None:
                others = _numbers(axes, sizes) // axis.rows(low)
                high = min(high, max(low, most // others - axis.more))
                if axis.name != "V":
                    high = min(high, max(low, MOST_ROWS // (others // sizes["V"]) - axis.more))
            sizes[axis.name] = size_at(low, high, axis.usual, where[axis.name])
        halves = {axis.name: min(sizes[axis.name], sizes["V"] // 2) for axis in axes if axis.of_vocabulary}
        return Shape(tuple((sizes | halves).items()))


def most_numbers(least: int) -> int:
    """The most numbers that the rows p of a call have, of a range whose smallest shape has ``least``."""
    return MOST if least <= MOST else LARGEST


def _numbers(axes: Sequence[Axis], sizes: Mapping[str, int]) -> int:
    return prod(axis.rows(sizes[axis.name]) for axis in axes)


def numbers(axes: Sequence[Axis], shape: Shape) -> int:
    """How many numbers the rows p of a call with this shape have."""
    return _numbers(axes, dict(shape.sizes))


def size_at(low: int, high: int, usual: tuple[int, ...], where: float) -> int:
    """A size, by a number from 0 to 1: a usual one, next to a power of two, next to a multiple of a tile, or any."""
    powers = (1 << k for k in range(low.bit_length() - 1, high.bit_length() + 1))
    beside = (size for power in powers for size in range(power - 1, power + 2))
    for sizes, share in (
        ([size for size in usual if low <= size <= high], USUAL_SHARE),
        (sorted({size for size in beside if low <= size <= high}), POWERS),
    ):
        if sizes and where < share:
            return sizes[int(where / share * len(sizes))]
        where = (where - share) / (1 - share) if sizes else where
    first, last = -(-low // TILE), high // TILE
    if first <= last and where < TILES:
        tile, off = divmod(int(where / TILES * 3 * (last - first + 1)), 3)
        return min(high, max(low, (first + tile) * TILE + off - 1))
    where = (where - TILES) / (1 - TILES) if first <= last else where
    return min(high, max(low, round(exp(log(low) + where * log((high + 1) / low)) - 0.5)))


def _band_text(band: Band) -> str:
    return str(band[0]) if band[0] == band[1] else f"{band[0]} to {band[1]}"


# What a user asks for ----------------------------------------------------------------------------------------------

DTYPES = ("float64", "float32", "float16", "bfloat16")


def parsed(text: str, axes: Sequence[Axis]) -> Ranges:
    """The shapes that a text such as ``V=151936,gamma=7,batch=1..32,dtype=bfloat16`` or the name of a preset asks for.

    Raises ``ValueError`` for a preset that does not exist, an axis that the contract has not or that is named twice, no
    whole number, a size that is out of range, too large for V or so large that it takes too long beside the calls, a
    precision that does not exist, and a shape whose rows do not fit memory.
    """
    if text in PRESETS:
        preset = PRESETS[text]
        of = {axis.name: preset.of[axis.name] for axis in axes if axis.name in preset.of}
        return Ranges(of, text, source=preset.source)
    if "=" not in text:
        sizes = "expected sizes such as V=151936,gamma=7"
        raise ValueError(f"shape is {text!r}; {meant(text, PRESETS)}{sizes}, or one of {', '.join(PRESETS)}")
    of, dtype, known = dict[str, Band](), "", {axis.name: axis for axis in axes}
    for name, value in _assigned(text, f"shape {text!r}"):
        if name == "dtype":
            if value not in DTYPES:
                raise ValueError(
                    f"dtype is {value!r} in shape {text!r}; {meant(value, DTYPES)}expected one of {', '.join(DTYPES)}"
                )
            dtype = value
        elif name not in known:
            near = meant(name, [*known, "dtype"])
            raise ValueError(f"{name!r} in shape {text!r}; {near}expected {', '.join(known)} or dtype")
        else:
            of[name] = _band(known[name], value, f"shape {text!r}")
    found = Ranges(of, text, dtype)
    if not of:
        raise ValueError(
            f"shape is {text!r}, which has no size; {meant(text, known)}expected one of {', '.join(known)}"
        )
    _check_vocabulary(of, axes, f"shape {text!r}")
    _check_length(of, axes, f"shape {text!r}")
    if found.within(axes, {}) is None:
        rows = "rows of p alone have more than"
        raise ValueError(f"shape {text!r} does not fit memory: its {rows} {LARGEST} numbers ({LARGEST >> 17} MiB)")
    return found


def _assigned(text: str, where: str) -> Iterator[tuple[str, str]]:
    """The names of a text such as ``V=9,gamma=2`` with what each is given; ``ValueError`` for one given twice."""
    found = set[str]()
    for part in text.split(","):
        name, _, value = (word.strip() for word in part.partition("="))
        if name in found:
            raise ValueError(
                f"{name} is given twice in {where}; expected it once, as a range from..to for several sizes"
            )
        found.add(name)
        yield name, value


def _check_vocabulary(of: Mapping[str, Band], axes: Sequence[Axis], where: str) -> None:
    """Raise ``ValueError`` where an axis that is at most half of V cannot be: V would be too small for its least."""
    for axis in axes:
        low, most = of.get(axis.name, (axis.least,))[0], of["V"][1] if "V" in of else inf
        if axis.of_vocabulary and 2 * low > most:
            raise ValueError(
                f"{axis.name} is {low} and V {most} in {where}; expected {axis.name} at most half of V, as distinct "
                f"candidates are drawn: V of at least {2 * low}, or {axis.name} of at most {most // 2}"
            )


def _check_length(of: Mapping[str, Band], axes: Sequence[Axis], where: str) -> None:
    """Raise ``ValueError`` for sizes beside V with which cases take longer to make and to check than calls may."""
    why = "cases beyond that take too long to draw and to check, which no budget bounds"
    for name, (_, high) in of.items():
        if name != "V" and high > LONGEST:
            raise ValueError(f"{name} is {high} in {where}; expected at most {LONGEST}: {why}")
    rows = prod(axis.rows(of.get(axis.name, (axis.least,))[0]) for axis in axes if axis.name != "V")
    if rows > MOST_ROWS:
        raise ValueError(f"{where} has calls of {rows} rows and more; expected at most {MOST_ROWS}: {why}")


def _band(axis: Axis, value: str, where: str) -> Band:
    """The bounds of one axis."""
    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", value.replace("_", ""))
    if found is None:
        raise ValueError(f"{axis.name} is {value!r} in {where}; expected a whole number, or two as in 4..8")
    low, high = int(found[1]), int(found[2] or found[1])
    least = axis.least
    if not least <= low <= high:
        wanted = f"at least {least}" if low < least else "the smaller one first"
        raise ValueError(f"{axis.name} is {value} in {where}; expected {wanted}")
    return low, high


def limits(text: str, axes: Sequence[Axis]) -> dict[str, int]:
    """The most of each axis that a text such as ``V=65536,batch=64`` says; ``ValueError`` as of :func:`parsed`, or for
    a range."""
    known, found = {axis.name: axis for axis in axes}, dict[str, int]()
    for name, value in _assigned(text, f"at-most {text!r}"):
        if name not in known:
            raise ValueError(f"{name!r} in at-most {text!r}; {meant(name, known)}expected one of {', '.join(known)}")
        least, found[name] = _band(known[name], value, f"at-most {text!r}")
        if least != found[name]:
            raise ValueError(f"{name}={value} in at-most {text!r}; expected one number, the most")
    return found


PRESETS: dict[str, Ranges] = {
    "llama-3": Ranges(
        {"V": (VOCABULARIES["Llama 3"],) * 2, "gamma": (1, 16), "length": (1, 16)},
        source="vocab_size of meta-llama/Llama-3.1-8B, config.json",
    ),
    "qwen-3": Ranges(
        {"V": (VOCABULARIES["Qwen 3"],) * 2, "gamma": (1, 16), "length": (1, 16)},
        source="vocab_size of Qwen/Qwen3-8B, config.json",
    ),
    "gemma-3": Ranges(
        {"V": (VOCABULARIES["Gemma 3"],) * 2, "gamma": (1, 16), "length": (1, 16)},
        source="vocab_size of google/gemma-3-1b-it, config.json",
    ),
    "lumina-mgpt": Ranges(
        {"V": (VOCABULARIES["Lumina-mGPT"],) * 2, "gamma": (64, 96), "length": (64, 96)},
        source="vocab_size of Alpha-VLLM/Lumina-mGPT-7B-768, config.json; SJD-PAC verifies windows of 64 there",
    ),
    "llamagen": Ranges(
        {"V": (VOCABULARIES["LlamaGen"],) * 2, "gamma": (1, 16), "length": (16, 96)},
        source="codebook of LlamaGen (arXiv 2406.06525), vocab_size of GPT-XL, 16,384",
    ),
    "emu3": Ranges(
        {"V": (VOCABULARIES["Emu3"],) * 2, "gamma": (1, 32), "length": (1, 32)},
        source="vocab_size of BAAI/Emu3-Gen, config.json",
    ),
}
