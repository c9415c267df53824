"""The image-like process of the claims about speed, and tokens a call of decoders on it.

A statement such as "step compression saturates at a window of 16" is about a model, and cannot be settled without it.
What can be settled is whether it holds on a process that has the properties which are printed of the model. That is
:mod:`simlab.processes.local` with these parameters:

fixed beforehand
    rows of 48 tokens, as an image of 768 x 768 pixels has; log token probabilities of mean -4.9 and standard deviation
    2.35 (SJD, Table 11), by ``entropy`` and ``heterogeneity``.
fitted
    ``coupling`` to the calls of SJD that commit one token, nearly half of them (SJD-PAC, Fig. 1), ``locality`` to the
    step compression 2.31 of SJD with a window of 32, ``jitter`` to the 4.51 of SJD-PAC with a budget of 64 (SJD-PAC,
    Table 2). None of the three is shown by what comes out, nor is how often adaptive continuation retains a token,
    which 4.51 depends on.

set by hand
    ``floor``, the size of the term in which all tokens before count alike, 0.3: neither printed nor fitted. With none,
    and no noise, the full method commits far more tokens a call than is printed (``pac.ablation.strictly-local``).

Every call has fresh noise on its logits (``jitter``), as calls of different shapes have on a real machine: two calls do
not give the same row for one prefix, and a claim that rests on this process says so (``STAND_IN``).

Everything else that comes out is a prediction. The vocabulary is 1,024, a compromise with the time it takes, and an
image has 12 rows. Images are independent, and all decoders see the same ones, with the same random numbers: so
differences are taken image by image. How many images a comparison takes follows from the test, the sign test at a
false-alarm rate of 1e-6: ``FEW`` decide it where a decoder is faster on every image, ``MANY`` where it is on 86 % of
them.

A decoder on an image is simulated once in a process, whoever asks: claims that share runs are decided together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from simlab.decoders import Decoder
from simlab.decoders.compiled import simulate
from simlab.processes import Pair, make_process
from simlab.randomness import Tape
from simlab.rules import Rule, Speculative
from simlab.statistics import Estimate, ProportionTest, estimate, paired

IMAGE: dict[str, Any] = {
    "vocabulary": 1024,
    "shape": (12, 48),
    "entropy": 7.0,
    "heterogeneity": 1.0,
    "coupling": 0.75,
    "floor": 0.3,
    "locality": 0.3,
    "jitter": 0.12,
}
STAND_IN = (
    "The process has a long-range term of size 0.3, set by hand, and fresh noise on its logits in every call, of a "
    "size fitted to Table 2."
)
FEW, IMAGES, MANY = 24, 48, 96
FALSE_ALARMS = 1e-6
LOSSLESS = Speculative()


@dataclass(frozen=True, eq=False)
class Speed:
    """How many calls one decoder took for n images."""

    tokens: int  # of an image
    calls: np.ndarray  # int[n]: for each image
    lengths: np.ndarray  # lengths[k] of all calls committed k tokens

    @property
    def ratios(self) -> np.ndarray:
        """Tokens a call, image by image."""
        return self.tokens / self.calls

    @property
    def mean(self) -> Estimate:
        """The mean of the ratios."""
        return estimate(self.ratios)

    @property
    def pooled(self) -> float:
        """All tokens over all calls."""
        return float(self.tokens * len(self.calls) / self.calls.sum())

    @property
    def single(self) -> float:
        """The share of calls that committed one token."""
        return float(self.lengths[1] / self.lengths.sum())

    def __str__(self) -> str:
        return f"{self.mean.mean:.3f} ± {self.mean.error:.3f} (pooled {self.pooled:.3f})"


@lru_cache(maxsize=256)
def image(number: int, **changes: Any) -> Pair:
    """One image of the model, independent of any other: its process, a draft of it, and the codebook.

    ``changes``: parameters of :mod:`simlab.processes.local`, in place of those in ``IMAGE``.
    """
    return make_process("local", image=number, **(IMAGE | changes))


def speed(decoder: Decoder, seed: int, images: int = IMAGES, rule: Rule = LOSSLESS, **changes: Any) -> Speed:
    """How fast ``decoder`` is on so many images, numbered from 0, each with its own replicate of the tape of ``seed``.

    ``changes``: as for :func:`image`. What is simulated is kept for whoever asks again.
    """
    committed = committed_of(decoder, seed, images, rule, **changes)
    lengths = np.bincount(np.concatenate(committed))
    return Speed(image(0, **changes).target.length, np.array([len(calls) for calls in committed]), lengths)


def committed_of(
    decoder: Decoder, seed: int, images: int = IMAGES, rule: Rule = LOSSLESS, **changes: Any
) -> list[np.ndarray]:
    """The tokens that each call commits, ``int[calls]`` for each image; what is given is as for :func:`speed`."""
    return [_committed(decoder, seed, number, rule, **changes) for number in range(images)]


@cache
def _committed(decoder: Decoder, seed: int, number: int, rule: Rule, **changes: Any) -> np.ndarray:
    """``int[calls]``: the tokens that each call for one image commits."""
    pair = image(number, **changes)
    draft = pair.draft if decoder.needs_draft else None
    done = simulate(decoder, pair.target, rule, Tape(seed, [number]), draft)
    return done.committed[0, : done.steps[0]]


@dataclass(frozen=True)
class Comparison:
    """One decoder against another, image by image."""

    gain: Estimate  # the mean difference in tokens a call, paired by image
    better: int  # images on which the first takes fewer calls
    worse: int  # and more

    @property
    def p_value(self) -> float:
        """The sign test's: exact, whatever the law of the gains; images that tie do not count."""
        decided = self.better + self.worse
        return float(ProportionTest(0.5).p_value(self.better, decided)) if decided else 1.0

    @property
    def sure(self) -> int:
        """1 or -1 where the first surely takes fewer or more calls than the other, 0 where the images cannot tell."""
        return int(np.sign(self.better - self.worse)) if self.p_value <= FALSE_ALARMS else 0

    def __str__(self) -> str:
        gain = f"{self.gain.mean:+.3f} ± {self.gain.error:.3f}"
        return f"{gain} ({self.better} images faster, {self.worse} slower)"


def compare(one: Speed, other: Speed) -> Comparison:
    """``one`` against ``other``, on the images that both have; from the same seed, so that image k is the same."""
    n = min(len(one.calls), len(other.calls))
    fewer, more = (one.calls[:n] < other.calls[:n]).sum(), (one.calls[:n] > other.calls[:n]).sum()
    return Comparison(paired(one.ratios[:n], other.ratios[:n]), int(fewer), int(more))


def stated(images: int = IMAGES) -> str:
    """n, false-alarm rate and detectable effect of a sign test on so many images: one sentence for a report."""
    return str(ProportionTest(0.5).stated(images, FALSE_ALARMS)).replace("rate", "a share of faster images off 1/2 by")
