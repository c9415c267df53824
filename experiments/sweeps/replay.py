"""Replay of a simulated sequence, call by call, with the rows and drafts of every verification.

A simulation returns tokens and counts; rows are far too many. Since all random
numbers are on the tape, a kernel that is run again does the same, and a process that records its calls has the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from experiments.sweeps.sample import Sample
from simlab.decoders import Decoder, Sjd, Sjd2, SjdPd, verifies
from simlab.decoders.compiled.kernels import kernel_of
from simlab.decoders.tree import NONE, Tree
from simlab.processes.wrapped import Recalled
from simlab.randomness.tape_compiled import Uniforms


class Call(NamedTuple):
    """One call of the target, of a sequence whose first ``start`` tokens are committed."""

    start: int
    stop: int  # tokens committed after it
    accepted: int  # drafts, also those beyond the end of the sequence
    tokens: np.ndarray  # int[accepted]: the tokens that were accepted
    drafts: np.ndarray  # int[W]: the chain
    p: np.ndarray  # [W+1, V]: the rows of the chain, and the row after it
    q: np.ndarray  # [W, V]: what was declared for the positions of the window
    nodes: np.ndarray  # int[M]: the tokens of a tree, the chain's first; the chain where there is no other
    rows: np.ndarray  # [M+1, V]: the row after the prefix, and after every node


class VerifiedPosition(NamedTuple):
    """A position of the sequence that a call has committed a token to."""

    position: int
    p: np.ndarray  # [V]: the row after the tokens committed before
    q: np.ndarray | None  # [V]: what the candidates were declared to be drawn from
    candidates: list[int]  # in the order of verification, which may end before the last; none: it is from p


def replayable(decoder: Decoder) -> bool:
    """Whether a decoder verifies its drafts one by one by a rule and the rows of its calls; SJD2 blurs them."""
    return verifies(decoder) and not isinstance(decoder, Sjd2)


def calls(sample: Sample, replicate: int) -> Iterator[Call]:
    """The calls of the target for one sequence of the sample; ``replicate`` is its place there.

    Raises ``ValueError`` for a decoder that does not verify drafts by them (:func:`replayable`).
    """
    if not replayable(sample.decoder):
        raise ValueError(f"decoder is a {type(sample.decoder).__name__}; expected one that verifies drafts by a rule")
    target, draft = Recalled(sample.pair.target), None
    if sample.decoder.needs_draft:
        assert sample.pair.draft is not None, "nothing was simulated without one"
        draft = Recalled(sample.pair.draft)
    kernel = kernel_of(sample.decoder, target, sample.rule, draft)
    only, iteration = np.array([replicate]), 0
    state = kernel.start(Uniforms.of_tape(sample.tape, only, iteration), 1)
    while state.length[0] < target.length:
        iteration += 1
        start = int(state.length[0])
        declared = state.q[0].copy() if isinstance(sample.decoder, Sjd) else None
        accepted = int(kernel.step(state, Uniforms.of_tape(sample.tape, only, iteration))[0])
        stop = int(state.length[0])

        last = target.taken()[-1]
        q = np.concatenate([call.rows[0] for call in draft.taken()]) if draft is not None else declared
        assert q is not None, "either there is a draft, or rows are declared"
        width, rows = len(q), last.rows[0]
        chain = last.tokens[0, start : start + width]
        nodes = chain if last.nodes is None else last.nodes[0]
        tokens = state.tokens[0, start : start + accepted].copy()
        yield Call(start, stop, accepted, tokens, chain, rows[: width + 1], q, nodes, rows)


def verified_positions(sample: Sample, replicate: int) -> Iterator[VerifiedPosition]:
    """The positions of one sequence of the sample, in order, each with its row and candidates."""
    tree = sample.decoder.draft_tree() if isinstance(sample.decoder, SjdPd) else None
    for call in calls(sample, replicate):
        for j, (row, candidates) in enumerate(_candidates_in_turn(call, tree)):
            if call.start + j < call.stop:
                yield VerifiedPosition(call.start + j, row, call.q[j] if candidates else None, candidates)


def _candidates_in_turn(call: Call, tree: Tree | None) -> Iterator[tuple[np.ndarray, list[int]]]:
    """The rows and candidates of the positions from ``call.start`` on, up to the first without an accepted draft."""
    width = len(call.drafts)
    depth = tree.depth if tree is not None else 0
    row = 0  # after the node that was accepted last
    for j in range(call.accepted + 1):
        if tree is not None and j < depth:
            below = [int(node) for node in tree.children.values[row] if node != NONE]
        else:
            below = [j] if row == j < width else []  # only the chain goes on
        if len(below) > 1:
            below = _existing(below, call.nodes, call.q[j], width)
        candidates = [int(call.nodes[node]) for node in below]
        yield call.rows[row], candidates
        if j < call.accepted:
            row = below[candidates.index(int(call.tokens[j]))] + 1


def _existing(family: list[int], nodes: np.ndarray, q: np.ndarray, width: int) -> list[int]:
    """The siblings that there are: once q is used up none can be drawn, and the model was asked about token 0."""
    left, found = q > 0, []
    for node in family:
        if node < width or left.any():
            found.append(node)
            left[nodes[node]] = False
    return found
