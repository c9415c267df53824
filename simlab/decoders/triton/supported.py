"""Which decoders and rules have a fused form, and why others have none. Needs neither torch nor Triton."""

from __future__ import annotations

from importlib.util import find_spec

from simlab.decoders.autoregressive import Autoregressive
from simlab.decoders.base import Decoder
from simlab.decoders.phrase import SjdPv
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd2 import Sjd2
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_block import SjdBlock
from simlab.decoders.sjd_pac import SjdPac
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.sjd_reference import PointMassSjd, UnrefinedPointMassSjd
from simlab.decoders.sjd_unrefined import SjdUnrefined
from simlab.decoders.sjd_vp import SjdVp
from simlab.decoders.skipping import Skipping
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.rules import Rule, Speculative

FUSED: tuple[type[Decoder], ...] = (
    Autoregressive,
    SpeculativeDecoder,
    Skipping,
    Sjd,
    PointMassSjd,
    UnrefinedPointMassSjd,
    SjdUnrefined,
    SjdAc,
    SjdBlock,
    SjdPd,
    SjdPac,
    SjdPv,
    SjdVp,
    Sjd2,
)


def unsupported(decoder: Decoder, rule: Rule) -> str | None:
    """Why a decoder has no fused form with this rule.

    ``decoder``, ``rule``: as :func:`simlab.decoders.run` takes them. Returns the reason as a sentence for people; None
    where there is a fused form.
    """
    if type(decoder) not in FUSED:
        known = ", ".join(kind.__name__ for kind in FUSED)
        return f"decoder is a {type(decoder).__name__}, which has no fused form; expected one of {known}"
    if type(rule) is not Speculative and not isinstance(decoder, Autoregressive | SjdBlock | SjdPv):
        return f"rule is a {type(rule).__name__}, which has no fused form; expected Speculative"
    if isinstance(decoder, Sjd) and decoder.renewal not in ("fresh", "maximal"):
        return f"renewal is {decoder.renewal!r}, which has no fused form; expected 'fresh' or 'maximal'"
    if isinstance(decoder, SjdAc) and decoder.relabel != "target":
        return f"relabel is {decoder.relabel!r}, which has no fused form; expected 'target'"
    if find_spec("triton") is None:
        return "Triton is not installed; expected the package 'triton', which the extra 'cuda' brings"
    return None
