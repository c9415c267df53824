"""What the statistical tests share: the process, its exact laws, and many runs of it on a tape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.decoders import Decoder, run
from simlab.randomness import Tape
from simlab.rules import Rule
from simlab.statistics import tally
from tests.support.dense import DenseProcess
from theory.exact import sequence_law
from theory.example_processes import random_process

SEQUENCES, BATCH = 200_000, 10_000
FEW = SEQUENCES // 10  # which show most faults already
FALSE_ALARMS = 1e-6  # of a whole family of tests
SEED = 1

# Three tokens: with two, a residual is always a point mass, and no fault in its random numbers would show. Of a few
# random tables this one is where the wrong variants of these tests are furthest from the right law, exactly computed.
TARGET, DRAFT = (random_process(seed, 3, 4, (2, 2), zeros=0) for seed in (7, 8))
Laws = dict[str, Mapping[Any, Any]]


def laws(decoder: Decoder, rule: Rule) -> Laws:
    """The exact law of sequences, and of steps."""
    draft = {"draft": DRAFT} if decoder.needs_draft else {}
    return dict(zip(("sequences", "steps"), sequence_law(decoder, TARGET, rule, **draft), strict=True))


def observed(
    decoder: Decoder, rule: Rule, sequences: int = SEQUENCES, tape: type[Tape] = Tape
) -> dict[str, dict[Any, int]]:
    """How often each sequence, and each number of steps, comes out of so many runs on the tape."""
    target, draft = DenseProcess(TARGET), DenseProcess(DRAFT) if decoder.needs_draft else None
    batches = [range(first, first + BATCH) for first in range(0, sequences, BATCH)]
    runs = [run(decoder, target, rule, tape(SEED, batch), draft) for batch in batches]
    tokens, steps = (np.concatenate(side) for side in zip(*runs, strict=True))
    return {"sequences": tally(tokens), "steps": tally(steps)}
