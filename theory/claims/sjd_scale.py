"""Claims of SJD that need simulation at scale, with what can be enumerated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from simlab.decoders import Decoder, Jacobi, Sjd, SjdUnrefined
from simlab.processes import TableProcess
from theory.claims.base import Claims, Evidence, Finding, require
from theory.claims.sjd import deviation, mean_steps
from theory.worlds import random_world, sticky_world

CLAIMS = Claims("sjd")


def steps_of(decoders: Mapping[str, Decoder], processes: Iterable[TableProcess]) -> str:
    """Mean steps of each decoder, averaged over processes of one length."""
    processes = list(processes)
    means = {name: sum(mean_steps(d, p) for p in processes) / len(processes) for name, d in decoders.items()}
    return ", ".join(f"{name} {float(mean):.3f}" for name, mean in means.items())


def _small_processes(seed: int) -> list[TableProcess]:
    return [sticky_world(Fraction(3, 4), 2, 5), *(random_world(seed + k, 2, 5, zeros=0) for k in range(3))]


@CLAIMS.claim("sjd.window", "Fig. 8", "Step compression saturates once the window is about 16.")
def window(seed: int) -> Finding:
    """Needs simulation: sequences that can be enumerated are shorter than 16 tokens."""
    found = steps_of({f"W = {w}": Sjd(w) for w in range(1, 6)}, _small_processes(seed))
    return Finding(
        "not-decided",
        [
            Evidence(
                "exact-small-scale",
                f"needs simulation; exact mean steps for 5 tokens (5 one by one), V = 2, four processes: {found}",
            )
        ],
    )


@CLAIMS.claim("sjd.refinement", "App. F", "Without re-sampling unaccepted tokens there is almost no acceleration.")
def refinement(seed: int) -> Finding:
    """Needs simulation: at V = 2 a random token is right half of the time, which large vocabularies do not have."""
    processes = _small_processes(seed)
    require(max(deviation(SjdUnrefined(3), p) for p in processes) == 0, "SJD without refinement is not lossless")
    found = steps_of({"with refinement": Sjd(4), "without": SjdUnrefined(4)}, processes)
    larger = [random_world(seed + k, 4, 3, zeros=0) for k in range(3)]
    wide = steps_of({"with refinement": Sjd(3), "without": SjdUnrefined(3)}, larger)
    return Finding(
        "not-decided",
        [
            Evidence(
                "exact-small-scale",
                f"needs simulation; exact mean steps for 5 tokens (5 one by one), V = 2, window 4: {found}; for 3 "
                f"tokens, V = 4, window 3: {wide}",
            )
        ],
    )


@CLAIMS.claim("sjd.jacobi-sampling", "5.4", "Deterministic Jacobi decoding does not accelerate sampling.")
def jacobi_sampling(seed: int) -> Finding:
    """Needs simulation. Both forms of Jacobi decoding are lossless: with fresh noise a draft is final when the target
    draws the same token again; with fixed noise the fixed point is what sequential decoding with the same uniforms
    gives. How fast they get there depends on how flat the rows are.
    """
    processes = _small_processes(seed)
    both = [Jacobi(3), Jacobi(3, "fixed")]
    require(max(deviation(d, p) for d in both for p in processes[:3]) == 0, "Jacobi decoding is not lossless")
    found = steps_of(
        {"fresh noise": Jacobi(4), "fixed noise": Jacobi(4, "fixed"), "SJD": Sjd(4, bonus=False)}, processes
    )
    return Finding(
        "not-decided",
        [
            Evidence(
                "exact-small-scale",
                f"needs simulation; exact mean steps for 5 tokens (5 one by one), V = 2, window 4, no bonus: {found}",
            )
        ],
    )
