"""How far a token's influence reaches: SJD-PAC, Figure 4."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from simlab.arrays import without
from simlab.decoders import Autoregressive
from simlab.decoders.compiled import simulate
from simlab.processes import Process, TableProcess
from simlab.randomness import Purpose, Tape
from simlab.rules import Speculative
from simlab.statistics import Estimate, estimate
from theory.claims.base import Claims, Finding
from theory.claims.evidence import counterexample, enumeration, rejects_mutants, require, simulation
from theory.claims.format import fmt, numbers
from theory.claims.sjd_pac.speed import SIMULATES
from theory.distances import tv
from theory.example_processes import sticky_process
from theory.image_process import FALSE_ALARMS, IMAGES, image

CLAIMS = Claims("sjd-pac")
OFFSETS = (1, 2, 3, 4, 8, 16, 32, 47, 48, 49, 64)
PLACES = (400, 506)  # of a token, two a image, with a row and more before them

CLAIMS.summary(
    "pac.locality",
    "Fig. 4",
    "TV between next-token pmfs before and after perturbing the token at offset j falls with j for image-like "
    "processes.",
    ["pac.locality.row", "pac.locality.above"],
)


@CLAIMS.claim("pac.locality.row", "Fig. 4", "... for offsets shorter than a row of the image.", simulates=SIMULATES)
def row(seed: int) -> Finding:
    """A property of a model, not of the method. For the chain that repeats its last token with probability s, the TV at
    offset j is |V s - 1|^j/(V - 1)^j: it falls with j. A process that copies the token j places back shows that it need
    not.
    """
    stay, length = Fraction(4, 5), 6
    chain = sticky_process(stay, 2, length)
    seen = [averaged(chain, length - 1, j) for j in range(1, 6)]
    copying = TableProcess(2, length, lambda prefix: _copy(prefix, 3))
    other = [averaged(copying, length - 1, j) for j in range(1, 6)]
    require(seen[0] == 2 * stay - 1, "the TV at offset 1 is not what the chain has")
    short = [found for offset, found in perturbed(seed).items() if offset <= 32]
    return Finding(
        "not-refuted" if _falls(short) else "not-decided",
        [
            simulation(
                f"image-like process, TV by offset, exact for each of {short[0].n} contexts: "
                + _summary({o: e for o, e in perturbed(seed).items() if o <= 32})
                + f"; the same prefix in two calls: {twice(seed)}",
                numbers(offsets=[o for o in OFFSETS if o <= 32], tv=[e.mean for e in short]),
            ),
            rejects_mutants({"the offsets reversed": short[::-1]}, lambda e: not _falls(e), "the fall"),
            enumeration(
                f"exact TV at offsets 1 to 5, the tokens between being drawn: sticky chain with s = 4/5, V = 2: "
                f"{', '.join(map(fmt, seen))}; a process that copies the token three back: "
                f"{', '.join(map(fmt, other))}",
            ),
        ],
    )


@CLAIMS.claim("pac.locality.above", "Fig. 4", "... for all offsets in raster order.", stated=False, simulates=SIMULATES)
def above(seed: int) -> Finding:
    """In raster order the token above is a whole row away. A model that looks up has its influence there: TV rises
    again at the offset of one row, however fast it falls before.
    """
    found = perturbed(seed)
    low = found[48].interval(1 - FALSE_ALARMS)[0]
    high = found[32].interval(1 - FALSE_ALARMS)[1]
    return Finding(
        "refuted" if low > high else "not-decided",
        [
            counterexample(
                f"image-like process with rows of 48 tokens, TV by offset: {_summary(found)}; at offset 48 at least "
                f"{low:.3f}, at 32 at most {high:.3f}, at 1 - {FALSE_ALARMS:g}",
                numbers(offsets=list(OFFSETS), tv=[e.mean for e in found.values()]),
            ),
            rejects_mutants(
                {"the offset beside the one of a row": found[32]},
                lambda beside: found[48].mean - beside.mean,
                "the rise",
            ),
        ],
    )


# What is measured -------------------------------------------------------------------------------------------------


@cache
def perturbed(seed: int) -> dict[int, Estimate]:
    """TV by offset between the row of a place before and after the token that far before it is replaced.

    Means over ``PLACES`` of every image; both rows are of calls that begin at the place.
    """
    found: dict[int, list[float]] = {offset: [] for offset in OFFSETS}
    for number, tokens in enumerate(_drawn(seed)):
        target = image(number).target
        for place in PLACES:
            before = _row(target, tokens, place, place)
            for offset in OFFSETS:
                replaced = tokens.copy()
                replaced[place - offset] = _another(target, tokens, place - offset, Tape(seed, [number], target.length))
                found[offset].append(float(tv(before, _row(target, replaced, place, place))))
    return {offset: estimate(values) for offset, values in found.items()}


def twice(seed: int) -> str:
    """TV between the rows of one prefix in two calls that begin one position apart."""
    pairs = [(image(k).target, tokens, place) for k, tokens in enumerate(_drawn(seed)) for place in PLACES]
    values = [tv(_row(p, tokens, at, at), _row(p, tokens, at - 1, at)) for p, tokens, at in pairs]
    return str(estimate(values))


@cache
def _drawn(seed: int) -> tuple[np.ndarray, ...]:
    """A sample of every image, decoded one by one."""
    drawn = [simulate(Autoregressive(), image(k).target, Speculative(), Tape(seed, [k])) for k in range(IMAGES)]
    return tuple(done.tokens[0] for done in drawn)


def _row(process: Process, tokens: np.ndarray, start: int, place: int) -> np.ndarray:
    """The row of ``place`` in a call that begins at ``start``."""
    return np.asarray(process.forward(tokens[None], np.array([start]), place - start + 1)[0, -1])


def _another(process: Process, tokens: np.ndarray, place: int, tape: Tape) -> int:
    """Another token for ``place``, drawn from its row."""
    left = without(_row(process, tokens, place, place), tokens[place])
    return int(tape.draw(left[None, None], np.array([place]), Purpose.DRAFT)[0, 0])


def averaged(process: TableProcess, place: int, offset: int) -> Fraction:
    """TV between the pmfs at ``place`` for the two values of the token ``offset`` before it, all else averaged."""
    rows: list[dict[tuple[int, ...], Fraction]] = []
    for side in (0, 1):
        paths: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
        for position in range(place):
            longer: dict[tuple[int, ...], Fraction] = {}
            for prefix, weight in paths.items():
                if position == place - offset:
                    longer[(*prefix, side)] = weight
                else:
                    for token, mass in enumerate(process.row(prefix)):
                        longer[(*prefix, token)] = longer.get((*prefix, token), Fraction(0)) + weight * mass
            paths = longer
        rows.append(paths)
    means = [
        [sum((w * process.row(prefix)[token] for prefix, w in paths.items()), Fraction(0)) for token in (0, 1)]
        for paths in rows
    ]
    return Fraction(tv(*means))


def _copy(prefix: tuple[int, ...], back: int) -> list[Fraction]:
    """The row of a process that copies the token ``back`` places before."""
    if len(prefix) < back:
        return [Fraction(1, 2)] * 2
    return [Fraction(9, 10) if token == prefix[-back] else Fraction(1, 10) for token in (0, 1)]


def _falls(values: list[Estimate]) -> bool:
    """Whether the first is surely larger than the last, and no later one surely larger than an earlier."""
    ends = [e.interval(1 - FALSE_ALARMS) for e in values]
    rises = any(b[0] > a[1] for k, a in enumerate(ends) for b in ends[k + 1 :])
    return ends[0][0] > ends[-1][1] and not rises


def _summary(found: dict[int, Estimate]) -> str:
    return ", ".join(f"{offset}: {e.mean:.3f} ± {e.error:.3f}" for offset, e in found.items())
