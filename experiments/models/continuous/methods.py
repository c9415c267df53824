"""Methods for continuous tokens by name: a decoder and a rule, and how the last denoising step must end.

==========================  ==========================================  ============================================
method                      decoder x rule                              of CSpD
==========================  ==========================================  ============================================
``autoregressive``          the target alone                            what all others are held against
``algorithm-1``             truncating x variance-product               Algorithm 1, noise shared
``algorithm-1-unaligned``   truncating x variance-product               the same with independent noise
``two-path``                truncating x two-path                       eq. 4, with independent noise
``path``                    truncating x path                           eqs. 2 and 10 to 12: lossless
``published-code``          in place x cspd-reference                   its code: 100 proposals, then a zero
``last-step``               truncating x last-step                      the ratio of the last step alone: lossless
``last-step-unaligned``     truncating x last-step                      the same with independent noise: lossless
``last-noise``              truncating x last-noise                     for a last step without noise: lossless
``target-end``              truncating x target-end                     the same, ended by the target's means: lossless
``reflection``              truncating x reflection                     fixed variances alone; not of CSpD: lossless
==========================  ==========================================  ============================================

Rules that compare densities of tokens need a last step that adds noise; MAR's own sampler adds none, and CSpD's code
takes the density of a step that is not drawn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simlab.continuous.decoders.base import Decoder
from simlab.continuous.decoders.in_place import InPlace
from simlab.continuous.decoders.truncating import Truncating
from simlab.continuous.networks.sampler import Sampler
from simlab.continuous.residual import LIMIT
from simlab.continuous.rules import make_rule
from simlab.continuous.rules.base import Rule
from simlab.continuous.rules.reference_code import PROPOSALS
from simlab.registry import meant

AR = "autoregressive"
GAMMA = 4  # drafts a block


@dataclass(frozen=True)
class Preset:
    """A method before its block length is chosen.

    Attributes
    ----------
    rule, parameters
        As :func:`~simlab.continuous.rules.make_rule` takes them.
    decoder
        What drafts and commits.
    limit
        The most proposals for a rejected draft.
    lossless
        Whether it is proven to be.
    noisy_end
        Whether the last step adds noise.
    of_last_step
        Whether a token is to follow the target's last kernel given its own trajectory, whatever that is.
    """

    rule: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    decoder: type[Decoder] = Truncating
    limit: int = LIMIT
    lossless: bool = False
    noisy_end: bool = True
    of_last_step: bool = True


UNALIGNED = {"aligned": False}
METHODS: dict[str, Preset] = {
    "algorithm-1": Preset("variance-product"),
    "algorithm-1-unaligned": Preset("variance-product", UNALIGNED),
    "two-path": Preset("two-path"),
    "path": Preset("path", lossless=True, of_last_step=False),
    "published-code": Preset("cspd-reference", decoder=InPlace, limit=PROPOSALS, noisy_end=False, of_last_step=False),
    "last-step": Preset("last-step", lossless=True),
    "last-step-unaligned": Preset("last-step", UNALIGNED, lossless=True),
    "last-noise": Preset("last-noise", lossless=True, noisy_end=False, of_last_step=False),
    "target-end": Preset("target-end", lossless=True, noisy_end=False, of_last_step=False),
    "reflection": Preset("reflection", lossless=True),
}
NAMES = (AR, *METHODS)


def names_with(sampler: Sampler) -> tuple[str, ...]:
    """All methods but those whose covariances a sampler has not: ``reflection`` needs one for both models."""
    return tuple(name for name in NAMES if name != "reflection" or sampler.variances in ("posterior", "upper"))


@dataclass(frozen=True)
class Method:
    """A decoder and a rule, ready to run; neither where the target draws alone."""

    name: str
    decoder: Decoder | None = None
    rule: Rule | None = None
    lossless: bool = True
    noisy_end: bool | None = None  # None: either
    of_last_step: bool = False

    @property
    def gamma(self) -> int:
        """Drafts a block; 0 without any."""
        return 0 if self.decoder is None else self.decoder.gamma


def make_method(name: str, gamma: int = GAMMA, prefill: int = 0) -> Method:
    """The method called ``name`` with blocks of ``gamma`` drafts behind ``prefill`` tokens of the target's own.

    Raises ``ValueError`` for an unknown name, and numbers that are too small.
    """
    if name == AR:
        return Method(AR)
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; {meant(name, NAMES)}expected one of {', '.join(NAMES)}")
    preset = METHODS[name]
    decoder = preset.decoder(gamma, prefill, preset.limit)
    rule = make_rule(preset.rule, **preset.parameters)
    return Method(name, decoder, rule, preset.lossless, preset.noisy_end, preset.of_last_step)
