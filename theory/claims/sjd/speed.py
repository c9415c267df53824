"""Claims of SJD about speed: what is proven, what small processes give exactly, and what an image-like process shows.

Statements about a model are judged on :mod:`theory.image_process`: at best they are *not refuted* by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import get_args

from simlab.decoders import Decoder, Jacobi, Sjd, SjdUnrefined
from simlab.decoders.jacobi import Noise
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.processes import TableProcess
from theory.claims.base import Claims, Evidence, Finding, Verdict
from theory.claims.evidence import rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.claims.sjd.losslessness import deviation, mean_steps
from theory.example_processes import random_process, sticky_process
from theory.image_process import FALSE_ALARMS, FEW, MANY, Speed, compare, speed, stated

CLAIMS = Claims("sjd")
SIMULATES = "SJD on the image-like process"
WINDOWS = (1, 2, 4, 8, 16, 32)  # those of Fig. 8
SATURATED = 0.05  # of the step compression: what counts as no gain
PRINTED_JACOBI = 1.04  # Tables 1 and 2


def steps_of(decoders: Mapping[str, Decoder], processes: Iterable[TableProcess]) -> str:
    """Mean steps of each decoder, averaged over processes of one length."""
    processes = list(processes)
    means = {name: sum(mean_steps(d, p) for p in processes) / len(processes) for name, d in decoders.items()}
    return ", ".join(f"{name} {float(mean):.3f}" for name, mean in means.items())


def speeds_of(decoders: Mapping[str, Decoder], seed: int, images: int) -> dict[str, Speed]:
    """How fast each decoder is on the image-like process."""
    return {name: speed(decoder, seed, images) for name, decoder in decoders.items()}


def summary(speeds: Mapping[str, Speed]) -> str:
    """Step compressions to read."""
    return ", ".join(f"{name} {found}" for name, found in speeds.items())


def _small_processes(seed: int) -> list[TableProcess]:
    return [sticky_process(Fraction(3, 4), 2, 5), *(random_process(seed + k, 2, 5, zeros=0) for k in range(3))]


# Fig. 8 ---------------------------------------------------------------------------------------------------------


@CLAIMS.claim("sjd.window", "Fig. 8", "Step compression saturates once the window is about 16.", simulates=SIMULATES)
def window(seed: int) -> Finding:
    """Saturated means: a window of 16 surely beats one of 8, and 32 does not add 5 % to what 16 gives. Both are
    stated at a false-alarm rate of 1e-6, by the sign test over images and by Student's interval of the paired
    differences. That interval has to be narrower than 5 %, which takes twice the images of other claims. Windows below
    8 are far from saturated and need few images.
    """
    found = {f"W = {w}": speed(Sjd(w), seed, FEW if w < 8 else MANY) for w in WINDOWS}
    base, widest = found["W = 16"], found["W = 32"]
    require(compare(base, found["W = 1"]).sure == 1, "a window of 16 is not seen to beat a window of 1")
    control = rejects_mutants(
        {f"saturation at W = {w}": found[f"W = {w}"] for w in (1, 2, 4)},
        lambda early: max(0, _most(widest, early) - SATURATED),
        "saturation",
    )
    rises, most = compare(base, found["W = 8"]).sure == 1, _most(widest, base)
    verdict: Verdict = "not-decided"
    if _least(widest, base) > SATURATED:
        verdict = "refuted"
    elif rises and most <= SATURATED:
        verdict = "not-refuted"
    return Finding(
        verdict,
        [
            Evidence(
                "simulation",
                f"image-like process, tokens a call: {summary(found)}; "
                f"W = 16 against 8: {compare(base, found['W = 8'])}"
                f"; 32 adds at most {most:.1%} at 1 - {FALSE_ALARMS:g}; {stated(MANY)}, and n = {FEW} for W < 8",
                numbers(windows=list(WINDOWS), compression=[found[f"W = {w}"].mean.mean for w in WINDOWS]),
            ),
            control,
            Evidence(
                "exact-small-scale",
                "exact mean steps for 5 tokens (5 one by one), V = 2, four processes: "
                + steps_of({f"W = {w}": Sjd(w) for w in range(1, 6)}, _small_processes(seed)),
            ),
        ],
    )


def _most(one: Speed, other: Speed) -> float:
    """The most that ``one`` can surely add to the step compression of ``other``, as a share of it."""
    return compare(one, other).gain.interval(1 - FALSE_ALARMS)[1] / other.mean.mean


def _least(one: Speed, other: Speed) -> float:
    return compare(one, other).gain.interval(1 - FALSE_ALARMS)[0] / other.mean.mean


# Appendix F -----------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "sjd.refinement",
    "App. F",
    "Without re-sampling unaccepted tokens there is almost no acceleration.",
    ["sjd.refinement.certain", "sjd.refinement.uniform"],
)


class UnrefinedPointMass(SjdUnrefined, PointMassSjd):
    """Without refinement, a new draft scored as a point mass, as the published code scores it."""


@CLAIMS.claim(
    "sjd.refinement.certain",
    "App. F; published code",
    "... where a new draft is uniform and scored as a point mass, as the published code does.",
)
def refinement_certain(seed: int) -> Finding:
    """Without refinement every draft of every call is new. A uniform x that is scored as a point mass is accepted with
    probability p(x), so with probability sum_x p(x)/V = 1/V, whatever p and whatever was accepted before. So a call of
    a long sequence commits 1 + 1/V + ... + 1/V^W < V/(V - 1) tokens in the mean: at V = 8192, 1.0001.
    """
    processes = [random_process(seed + k, V, 3, zeros=zeros) for k, (V, zeros) in enumerate([(2, 0), (3, 0), (4, 0.3)])]
    for process in processes:
        share = Fraction(1, process.vocabulary)
        require(deviation(UnrefinedPointMass(2), process) == 0, "it is not lossless")
        found, expected = mean_steps(UnrefinedPointMass(2), process), _steps_of_certain(share, 2, process.length)
        require(found == expected, f"mean steps are {found}, the argument says {expected}")
    return Finding(
        "holds",
        [
            Evidence(
                "enumeration",
                "mean steps of 3 tokens with a window of 2 are exactly those of coins of probability 1/V, "
                + ", ".join(f"V = {w.vocabulary}: {fmt(mean_steps(UnrefinedPointMass(2), w))}" for w in processes)
                + " (3 one by one), for rows with and without zeros",
            ),
            rejects_mutants(
                {"uniform q": SjdUnrefined(2), "refined": PointMassSjd(2)},
                lambda d: sum(mean_steps(d, w) != mean_steps(UnrefinedPointMass(2), w) for w in processes),
                "mean steps",
            ),
        ],
    )


def _steps_of_certain(share: Fraction, width: int, length: int) -> Fraction:
    """Mean calls for ``length`` tokens where each of ``width`` drafts is accepted with probability ``share``."""
    if length <= 0:
        return Fraction(0)
    mean = Fraction(1)
    for accepted in range(width + 1):
        chance = share**accepted * (1 - share if accepted < width else 1)
        mean += chance * _steps_of_certain(share, width, length - accepted - 1)
    return mean


@CLAIMS.claim(
    "sjd.refinement.uniform",
    "App. F; section 4.2",
    "... where a new draft is uniform and scored so.",
    stated=False,
    simulates=SIMULATES,
)
def refinement_uniform(seed: int) -> Finding:
    """A uniform draft that is scored with the uniform row is accepted with probability sum_x min(p(x), 1/V): by how
    much p overlaps with the uniform row. Where p is uniform, W + 1 tokens a call are committed without any refinement.
    For image tokens that overlap is not small, though it falls as the vocabulary grows and p does not.
    """
    length, width = 6, 2
    flat = TableProcess(2, length, lambda prefix: [Fraction(1, 2)] * 2)
    steps = mean_steps(SjdUnrefined(width), flat)
    require(steps == Fraction(length, width + 1), "uniform rows do not commit whole windows")
    decoders: dict[str, Decoder] = {
        "SJD": Sjd(16),
        "without refinement": SjdUnrefined(16),
        "..., repeated from the left": SjdUnrefined(16, "repeat-left"),
    }
    found = speeds_of(decoders, seed, FEW)
    larger = speed(SjdUnrefined(16), seed, 4, vocabulary=4096, shape=(2, 48))
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                f"V = 2, every row (1/2, 1/2), window {width}: {length} tokens in {fmt(steps)} calls, unrefined",
                numbers(p=[Fraction(1, 2)] * 2, window=width, tokens=length, calls=steps),
            ),
            Evidence(
                "simulation",
                f"image-like process (V = 1024), window 16, tokens a call: {summary(found)}; at V = 4096 and the same "
                f"entropy, 4 images, without refinement {larger}; {stated(FEW)}",
            ),
        ],
    )


# Section 5.4 ----------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "sjd.jacobi-sampling",
    "5.4",
    "Deterministic Jacobi decoding does not accelerate sampling.",
    ["sjd.jacobi-sampling.fresh", "sjd.jacobi-sampling.fixed"],
)


@CLAIMS.claim(
    "sjd.jacobi-sampling.fresh",
    "5.4; Tables 1, 2",
    "... where every iteration draws with new chance: about 1.04 tokens a call.",
    simulates=SIMULATES,
)
def jacobi_fresh(seed: int) -> Finding:
    """A draft is final when the target draws the same token again, with probability sum p'p: the collision probability
    of two rows, which is small where rows are flat. Judged: it is below 1.1 tokens a call.
    """
    return _jacobi("fresh", seed)


@CLAIMS.claim(
    "sjd.jacobi-sampling.fixed",
    "5.4",
    "... where each position keeps one uniform through all iterations, which makes the iteration deterministic.",
    stated=False,
    simulates=SIMULATES,
)
def jacobi_fixed(seed: int) -> Finding:
    """With one uniform a position, a token changes only if its row moves by more than the distance of the uniform to
    the next edge of the cumulative masses, so it comes to rest sooner than with new noise where rows move little.
    Judged: it is below 1.1 tokens a call.
    """
    return _jacobi("fixed", seed)


def _jacobi(noise: Noise, seed: int) -> Finding:
    processes = _small_processes(seed)
    both = {name: Jacobi(4, name) for name in get_args(Noise)}
    require(max(deviation(Jacobi(3, d.noise), p) for d in both.values() for p in processes[:3]) == 0, "not lossless")
    found = speeds_of({noise: Jacobi(16, noise), "SJD": Sjd(16)}, seed, FEW)
    low, high = found[noise].mean.interval(1 - FALSE_ALARMS)
    require(compare(found["SJD"], found[noise]).sure == 1, "SJD is not seen to beat Jacobi decoding")
    control = rejects_mutants(
        {"SJD": found["SJD"]}, lambda s: max(0, s.mean.interval(1 - FALSE_ALARMS)[0] - SLOW), "no acceleration"
    )
    verdict: Verdict = "not-refuted" if high < SLOW else "refuted" if low > SLOW else "not-decided"
    return Finding(
        verdict,
        [
            Evidence(
                "counterexample",
                f"image-like process, window 16, tokens a call: {summary(found)} (printed for Lumina-mGPT: "
                f"{PRINTED_JACOBI}); with {noise} noise from {low:.3f} to {high:.3f} at 1 - {FALSE_ALARMS:g}, "
                f"n = {FEW} images",
                numbers(window=16, noise=noise, compression=found[noise].mean.mean, error=found[noise].mean.error),
            ),
            control,
            Evidence(
                "exact-small-scale",
                "exact mean steps for 5 tokens (5 one by one), V = 2, window 4, no bonus: "
                + steps_of({f"{n} noise": d for n, d in both.items()} | {"SJD": Sjd(4, bonus=False)}, processes),
            ),
        ],
    )


SLOW = 1.1  # tokens a call: below it nobody would speak of acceleration
