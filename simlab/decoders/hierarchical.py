"""Hierarchical speculative decoding: drafts verified from the last one back, by the probabilities of whole prefixes.

Zhou et al., "Overcoming Joint Intractability with Lossless Hierarchical Speculative Decoding", arXiv 2601.05724, as in
the code of ZhouYuxuanYX/Hierarchical-Speculative-Decoding at b8575e2. With r_k = P(x_1..x_k)/Q(x_1..x_k) and
M_k = max(1, r_0, ..., r_k), prefix k stands for the masses

    D_k(v) = P(x_1..x_k)/M_k p_k(v) - Q(x_1..x_k) q_k(v),        p'_k = max(D_k, 0) / max(S+, S-),

where S+ and S- are the sums of the positive and of the negative part. All gamma drafts are accepted with a probability
a, and else, from k = gamma - 1 down, the first k of them with probability sum_v p'_k(v), followed by a token from p'_k;
k = 0 always. Which a, and by what prefixes are scaled, are two choices:

``final``
    ``capped``: a = min(1, r_gamma/M_{gamma-1}); lossless, and block verification in law. ``uncapped``:
    a = min(1, r_gamma), the last step of the published code; biased, once the target completes it.
``prefix``
    what stands for P(x_1..x_k)/M_k: ``running-max`` is the above; ``none`` is P(x_1..x_k), an earlier form; ``min`` is
    min(P, Q)(x_1..x_k).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from simlab.arrays import Array, full, namespace, number, total
from simlab.checks import check_choice
from simlab.decoders.joint import Joint, at_most_one

Final = Literal["capped", "uncapped"]
Prefix = Literal["running-max", "none", "min"]


@dataclass(frozen=True)
class Hierarchical(Joint):
    """``gamma`` drafts verified together, and one more token. The rule is not used.

    Attributes
    ----------
    gamma
        The draft length, >= 1.
    final
        With what probability all drafts are accepted: ``capped`` or ``uncapped``.
    prefix
        By what the probability of a prefix is scaled: ``running-max``, ``none`` or ``min``.

    Raises
    ------
    ValueError
        For a ``gamma`` that is no whole number >= 1, or another ``final`` or ``prefix``.

    References
    ----------
    Zhou et al., arXiv 2601.05724; ZhouYuxuanYX/Hierarchical-Speculative-Decoding, commit b8575e2,
    transformers/generation/utils.py, ``_speculative_sampling``.
    """

    final: Final = "capped"
    prefix: Prefix = "running-max"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("final", self.final, get_args(Final))
        check_choice("prefix", self.prefix, get_args(Prefix))

    @property
    def lossless(self) -> bool:
        """One draft is verified alike by all choices, and of two drafts ``min`` makes what ``running-max`` does."""
        scaled_right = self.prefix == "running-max" or (self.prefix == "min" and self.gamma == 2)
        return self.gamma == 1 or (self.final == "capped" and scaled_right)

    def scales(self, target: Array, draft: Array) -> tuple[Array, Array]:
        """As ``prefix`` and ``final`` say; all is divided by Q(x_1..x_k), which leaves ratios of target and draft."""
        xp, width = namespace(target), target.shape[1]
        ratios = [full((target.shape[0],), 1, target)]  # r_0 to r_gamma
        for k in range(width):
            ratios.append(ratios[-1] * target[:, k] / draft[:, k])
        highest = [ratios[0]]  # M_0 to M_{gamma-1}
        for ratio in ratios[1:width]:
            highest.append(xp.where(ratio > highest[-1], ratio, highest[-1]))
        scaled = SCALED[self.prefix](xp.stack(ratios[:width], axis=1), xp.stack(highest, axis=1))
        return scaled, LAST[self.final](ratios[width], highest[-1])

    def most(self, scale: Array, difference: Array, stays: Array) -> Array:
        xp, zero = namespace(stays), number(0, stays)
        lacks = total(xp.where(difference < zero, -difference, zero))
        return xp.where(stays > lacks, stays, lacks)


# What stands for the probability of a prefix over Q, by r_k and M_k; and the probability that all drafts are accepted,
# by r_gamma and M_{gamma-1}.
SCALED: dict[Prefix, Callable[[Array, Array], Array]] = {
    "running-max": lambda ratio, highest: ratio / highest,
    "none": lambda ratio, highest: ratio,
    "min": lambda ratio, highest: at_most_one(ratio),
}
LAST: dict[Final, Callable[[Array, Array], Array]] = {
    "capped": lambda ratio, highest: at_most_one(ratio / highest),
    "uncapped": lambda ratio, highest: at_most_one(ratio),
}
