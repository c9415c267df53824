"""Claims of SJD-PAC that need simulation at scale, with what can be enumerated."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from simlab.decoders import Decoder, Sjd, SjdAc, SjdPac, SjdPd
from simlab.processes import TableProcess
from theory.claims.base import Claims, Evidence, Finding, require, shown
from theory.claims.sjd import mean_steps
from theory.distances import tv
from theory.worlds import random_world, sticky_world

CLAIMS = Claims("sjd-pac")


@CLAIMS.claim(
    "pac.locality",
    "Fig. 4",
    "TV between next-token pmfs before and after perturbing the token at offset j falls with j for image-like "
    "processes.",
)
def locality(seed: int) -> Finding:
    """Needs simulation: it is a property of a model, not of the method. For the chain that repeats its last token with
    probability s, the TV at offset j is |V s - 1|^j/(V - 1)^j: it falls with j. A process that copies the token j
    places back shows that it need not.
    """
    stay, length = Fraction(4, 5), 6
    chain = sticky_world(stay, 2, length)
    seen = [_perturbed(chain, length - 1, j) for j in range(1, 6)]
    copying = TableProcess(2, length, lambda prefix: _copy(prefix, 3))
    other = [_perturbed(copying, length - 1, j) for j in range(1, 6)]
    require(seen[0] == 2 * stay - 1, "the TV at offset 1 is not what the chain has")
    return Finding(
        "not-decided",
        [
            Evidence(
                "exact-small-scale",
                "needs simulation of image-like processes; exact TV at offsets 1 to 5, the tokens between being "
                f"drawn: sticky chain with s = 4/5, V = 2: {', '.join(map(shown, seen))}; a process that copies the "
                f"token three back: {', '.join(map(shown, other))}",
            )
        ],
    )


def _copy(prefix: tuple[int, ...], back: int) -> list[Fraction]:
    if len(prefix) < back:
        return [Fraction(1, 2)] * 2
    return [Fraction(9, 10) if token == prefix[-back] else Fraction(1, 10) for token in (0, 1)]


def _perturbed(process: TableProcess, place: int, offset: int) -> Fraction:
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


@CLAIMS.claim(
    "pac.ablation",
    "Tables 2, 3",
    "Steps fall in the order SJD, +PD, +PD+AC at window 32, and again at window 64; at a fixed budget there is an "
    "interior optimum in K and D.",
)
def ablation(seed: int) -> Finding:
    """Needs simulation: windows of 32 and 64 and vocabularies of thousands are beyond enumeration. On worlds that can
    be enumerated every step count is exact.
    """
    processes = [random_world(seed + k, 3, 4, zeros=0.35) for k in range(2)] + [sticky_world(Fraction(3, 4), 3, 4)]
    tree: dict[str, Any] = {"candidates": 2, "depth": 2}
    decoders: dict[str, Decoder] = {
        "SJD": Sjd(3),
        "+ AC": SjdAc(3),
        "+ PD": SjdPd(3, **tree),
        "+ PD + AC": SjdPac(3, **tree),
    }
    means = {name: sum(mean_steps(d, world) for world in processes) / len(processes) for name, d in decoders.items()}
    require(means["+ PD + AC"] < means["SJD"], "trees and continuation do not save a step on any world tried")
    return Finding(
        "not-decided",
        [
            Evidence(
                "exact-small-scale",
                "needs simulation; exact mean steps for 4 tokens (4 one by one), V = 3, window 3, comb with K = D = "
                "2, three "
                "processes: " + ", ".join(f"{name} {float(value):.4f}" for name, value in means.items()),
            )
        ],
    )
