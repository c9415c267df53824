"""Run compiled decoders of continuous tokens: many sequences, in groups, over as many threads as wanted.

Numba is loaded with the first sequence.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from simlab.checks import check_at_least
from simlab.continuous.compiled.constants import MARGINAL
from simlab.continuous.compiled.models import compiled_model
from simlab.continuous.compiled.rules import compiled, judged
from simlab.continuous.decoders import Decoded, InPlace, Outcome, Truncating
from simlab.continuous.decoders.base import check_given
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import Rule
from simlab.continuous.tape import check_room
from simlab.randomness import Tape

BATCH = 128  # tokens side by side: more would leave the nearest cache, fewer leave work between the loops
GROUP = 2048  # sequences a call: as they end at different times, more sequences fill the batches


def simulate(
    decoder: Truncating | InPlace, target: Tokens, draft: Tokens, rule: Rule, tape: Tape, threads: int = 1
) -> Decoded:
    """Decode one sequence a replicate of ``tape``: what ``decoder.run`` returns, compiled.

    Outcomes, proposals and calls are those of the reference form, and so are tokens: to the last bit for diagonal
    chains of fixed variances, unless the rule is ``marginal`` or ``last-noise``, and else to rounding. Ratios are
    summed up in another order, so that a decision can differ where a coin meets its threshold but for the last bits.
    Sequences are decoded in groups, and groups over ``threads``; neither changes a bit.

    Raises ``ValueError`` for a decoder or a rule that has no compiled form, and as ``decoder.run`` does.
    """
    from simlab.continuous.compiled.decoders import Sequences, in_place, make_workspace, truncating
    from simlab.continuous.compiled.verify import Problem

    check_at_least("threads", threads, 1)
    if type(decoder) not in (Truncating, InPlace):
        known = f"{Truncating.__name__}, {InPlace.__name__}"
        raise ValueError(f"decoder is a {type(decoder).__name__}, which has no compiled form; expected one of {known}")
    check_given(target, draft, rule, tape)
    plain = compiled(rule)
    ahead = target.ahead(min(decoder.gamma, target.length)) if isinstance(decoder, InPlace) else []
    for chain in [chain for _, _, chain in ahead] or [target.chain]:
        rule.check(chain, draft.chain)
    check_room(target.chain.steps, target.dimension, target.length, decoder.limit)

    marginal = plain.compared == MARGINAL
    change = partial(judged, rule)
    models = compiled_model(target, ahead, marginal, change), compiled_model(draft, [], marginal, change)
    problem = Problem(plain, *models, decoder.gamma, decoder.prefill, decoder.limit)
    groups = _groups(tape.replicates, threads)

    def decoded(replicates: np.ndarray) -> Decoded:
        shape = len(replicates), target.length
        found = Decoded(
            np.zeros((*shape, target.dimension)),
            np.full(shape, Outcome.TARGET, np.int8),
            np.zeros(shape, np.int64),
            np.zeros(len(replicates), np.int64),
        )
        run = in_place if isinstance(decoder, InPlace) else truncating
        run(problem, Sequences(replicates, *found), make_workspace(target.dimension, BATCH, tape.seed))
        return found

    if threads == 1:
        parts = [decoded(group) for group in groups]
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(decoded, groups))
    return Decoded(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _groups(replicates: np.ndarray, threads: int) -> list[np.ndarray]:
    """The replicates in groups of one size, as many for each thread."""
    rounds = -(-len(replicates) // (GROUP * threads))
    return np.array_split(replicates, max(1, min(rounds * threads, len(replicates))))
