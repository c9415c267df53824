"""One token after the other from one model: what speculative decoding is held against."""

from __future__ import annotations

import numpy as np

from simlab.continuous.decoders.base import Decoded, Outcome, drawn_alone
from simlab.continuous.models.sequence_model import SequenceModel
from simlab.continuous.tape import check_room
from simlab.randomness import Tape
from simlab.randomness.tape import check_tape


def autoregressive(model: SequenceModel, tape: Tape) -> Decoded:
    """Sequences of a model, one a replicate of ``tape``.

    ``model``: of the sequences; whether its last step adds noise does not matter here. ``tape``: the random numbers.
    Returns tokens ``float64[B, N, d]``: those of a decoder that prefills all of a sequence. Raises ``ValueError`` for
    what is no tape, or has no room.
    """
    check_tape(tape)
    check_room(model.chain.steps, model.dimension, model.length, 1)
    count, end = len(tape.replicates), model.length
    rows, tokens = np.arange(count), np.zeros((count, end, model.dimension))
    for place in range(end):
        own, at = tape.at(place + 1), np.full(count, place)
        tokens[:, place] = drawn_alone(model, tokens, rows, own, at)
    whole = np.full((count, end), Outcome.TARGET, np.int8)
    return Decoded(tokens, whole, np.zeros((count, end), np.int64), np.full(count, end))
