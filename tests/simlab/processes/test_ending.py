"""Sequences that end early. That decoders stay lossless is in :mod:`tests.simlab.decoders.test_lossless`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from simlab.decoders import make_decoder, run
from simlab.processes import Ending, Processed
from simlab.randomness import Tape
from simlab.rules import Speculative
from simlab.statistics import Sequential
from tests.support.cases import PAC, by_decoder
from tests.support.dense import DenseProcess
from tests.support.small_processes import world
from theory.exact import sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

END, N = 1, 6


def test_the_law_of_an_ending_process() -> None:
    """What comes before the end has the mass it had; behind it there is nothing but the end."""
    open_ended, process = world("line"), Ending(world("line"), END)
    law = target_law(process)
    assert all(set(tokens[tokens.index(END) :]) == {END} for tokens in law if END in tokens)
    for length in range(1, 5):
        first = (0,) * (length - 1) + (END,)
        wanted = sum(mass for tokens, mass in target_law(open_ended).items() if tokens[:length] == first)
        assert law[first + (END,) * (4 - length)] == wanted


@by_decoder([("autoregressive", {}), ("sjd", {"window": 3}), ("speculative", {"gamma": 3}), *PAC[-2:]])
def test_a_run_stops_at_the_end(name: str, parameters: dict[str, Any]) -> None:
    tables = [random_process(seed, 3, N, None, zeros=0) for seed in (1, 2)]
    target, draft = (Ending(DenseProcess(table), 2) for table in tables)
    decoder = make_decoder(name, **parameters)
    kept: list[Any] = []
    found = run(
        decoder, target, Speculative(), Tape(3, 64), draft if decoder.needs_draft else None, lambda *s: kept.append(s)
    )
    ends = np.where((found.tokens == 2).any(axis=1), (found.tokens == 2).argmax(axis=1), N)
    assert len(set(ends.tolist())) > 3
    assert (found.tokens[np.arange(N) > ends[:, None]] == 2).all()
    assert (found.steps <= ends + 1).all()
    if name == "autoregressive":
        assert (found.steps == np.minimum(ends + 1, N)).all()
        assert len(kept) == found.steps.max()


@by_decoder([("autoregressive", {}), ("sjd", {"window": 2}), ("speculative", {"gamma": 2})])
def test_the_law_of_steps_is_of_runs_that_stop(name: str, parameters: dict[str, Any]) -> None:
    """Counts of steps of 20,000 runs; at 1e-7 a TV of 0.03 is found with a probability of 0.999."""
    tables = [random_process(seed, 2, 3, None, zeros=0) for seed in (1, 2)]
    target, draft = (Ending(table, 1) for table in tables)
    decoder = make_decoder(name, **parameters)
    law, steps = sequence_law(decoder, target, Speculative(), draft if decoder.needs_draft else None)
    assert law == target_law(target)
    assert sum(steps.values()) == 1
    quick = [Ending(DenseProcess(table), 1) for table in tables]
    found = run(decoder, quick[0], Speculative(), Tape(3, 20_000), quick[1] if decoder.needs_draft else None)
    assert (
        not Sequential({n: float(mass) for n, mass in steps.items()})
        .update(Counter(found.steps.tolist()))
        .rejects(1e-7)
    )


def test_a_processed_one_stops_there_too() -> None:
    process = DenseProcess(random_process(1, 3, N, None, zeros=0))
    one, other = (
        run(make_decoder("autoregressive"), each, Speculative(), Tape(3, 64))
        for each in (Processed(Ending(process, 2), temperature=2), Ending(Processed(process, temperature=2), 2))
    )
    assert (one.tokens == other.tokens).all()
    assert (one.steps == other.steps).all()
    assert one.steps.min() < N
