"""Proofs for all rows: of rules, decoders and verifiers as they are, or rows at which a statement fails.

``prove(rule)`` asks whether a rule is lossless, ``prove(rule, "tv <= 1/10")`` something else
(:mod:`theory.symbolic.statements`). The answer is one of three: it is *proven*, for all rows over so many tokens; here
is a *counterexample*, made as simple as it can be, and computed in fractions; or it is *unknown*, with the limit that
was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simlab.candidates import Candidates, Verifier
from simlab.checks import check_at_least
from simlab.decoders import Decoder
from simlab.rules import Rule
from theory.symbolic.answers import Answer, Progress
from theory.symbolic.cells import Limits
from theory.symbolic.prove_decoders import prove_decoder
from theory.symbolic.prove_rules import prove_rule
from theory.symbolic.prove_verifiers import prove_verifier
from theory.symbolic.statements import FRONTIER, LOSSLESS

__all__ = ["prove"]


def prove(
    subject: Rule | Decoder | Verifier | Callable[[int], Rule],
    that: str = LOSSLESS,
    size: int | Sequence[int] | None = None,
    *,
    rule: Rule | None = None,
    length: int = 3,
    candidates: Candidates | None = None,
    count: int = 2,
    zeros: bool = True,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Prove a statement about a rule, a decoder or a verifier of candidates for all rows, or find rows where it fails.

    Parameters
    ----------
    subject
        A rule, a decoder, a verifier, or a function from V to a rule.
    that
        The statement; see :mod:`theory.symbolic.statements`.
    size
        V, or several; 2 and 3 if it is not said, of decoders 2.
    rule, length
        Of a decoder, the rule that it verifies by, and the tokens of a sequence.
    candidates, count
        Of a verifier, how candidates are drawn, and K.
    zeros
        Whether rows may hold zeros.
    limits
        When to give up.
    progress
        Is told how many cells have been visited.

    Returns
    -------
    Answer
        Proven, a counterexample, or unknown.

    Raises
    ------
    ValueError
        If the statement is none, a size, a length or a count is below 1, there are several sizes for a decoder, or the
        frontier is asked of what has more than one draft.
    Refused
        If the code asks for something that numbers that are not known do not have, such as ``float()``.
    """
    sizes = tuple(check_at_least("size", one, 1) for one in ((size,) if isinstance(size, int) else size or ()))
    check_at_least("length", length, 1)
    check_at_least("count", count, 1)
    if that.strip() == FRONTIER and isinstance(subject, Decoder | Verifier):
        raise ValueError(f"that is {that!r}; expected lossless or a comparison: the frontier is of rules, of one draft")
    if isinstance(subject, Decoder):
        if len(sizes) > 1:
            raise ValueError(f"size is {', '.join(map(str, sizes))}; expected one for a decoder")
        return prove_decoder(subject, that, rule, sizes[0] if sizes else 2, length, zeros, limits, progress)
    sizes = sizes or (2, 3)
    if isinstance(subject, Verifier):
        return prove_verifier(subject, that, candidates, count, sizes, zeros, limits, progress)
    return prove_rule(subject, that, sizes, zeros, limits, progress)
