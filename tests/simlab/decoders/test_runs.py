"""Whole decoders on the tape: the same tokens and steps in NumPy and torch.

Each decoder runs over three forms of one process: the table with its loops, the same rows as one NumPy array, and
as torch tensors. All must commit identical tokens in identical steps for every rule. That a sequence does not depend on
its batch is in :mod:`tests.simlab.decoders.test_compiled`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from simlab import decoders
from simlab.decoders import Decoder, Run, make_decoder, run
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.rules import RULES, Rule, Speculative, make_rule
from tests.support.cases import DECODERS, RENEWED, by_decoder, others, tables, tree
from tests.support.dense import DenseProcess, floats
from theory.example_processes import random_process

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 4

V, N, SHAPE = 3, 6, (2, 3)
SEED, REPLICATES = 7, 48
TARGET, DRAFT = 1, 2  # the seeds of two random tables
FORMS = {
    "table": lambda world: floats(world),
    "numpy": lambda world: DenseProcess(world),
    "torch": lambda world: DenseProcess(world, torch.from_numpy),
}


@cache
def process(form: str, seed: int) -> Process:
    return FORMS[form](random_process(seed, V, N, SHAPE, zeros=0.2))


def decoded(decoder: Decoder, rule: Rule, form: str) -> Run:
    draft = process(form, DRAFT) if decoder.needs_draft else None
    found = run(decoder, process(form, TARGET), rule, Tape(SEED, REPLICATES), draft)
    return Run(np.asarray(found.tokens), np.asarray(found.steps))


def same(one: Run, other: Run) -> bool:
    return np.array_equal(one.tokens, other.tokens) and np.array_equal(one.steps, other.steps)


@by_decoder([*DECODERS, *RENEWED])
def test_forms_of_a_process_give_identical_sequences(name: str, parameters: dict[str, Any]) -> None:
    decoder = make_decoder(name, **parameters)
    table, *others = (decoded(decoder, Speculative(), form) for form in FORMS)
    assert all(same(table, other) for other in others)
    assert table.tokens.shape == (REPLICATES, N)
    assert 0 <= table.tokens.min() <= table.tokens.max() < V


@pytest.mark.parametrize(("rule", "setting"), others(RULES, [], tables(V)), ids=str)
@by_decoder(
    [
        ("speculative", {"gamma": 2}),
        ("sjd", {"window": 3}),
        ("sjd-ac", {"window": 3}),
        ("sjd-pd", tree(3, 2, 2)),
        ("sjd-pac", tree(2, 2, 2, "full", relabel="law")),
    ]
)
def test_so_they_do_with_every_rule(name: str, parameters: dict[str, Any], rule: str, setting: dict[str, Any]) -> None:
    decoder, made = make_decoder(name, **parameters), make_rule(rule, **setting)
    assert same(decoded(decoder, made, "numpy"), decoded(decoder, made, "torch"))


@by_decoder(others(decoders.DECODERS, [], {}))
def test_what_a_run_reports_adds_up(name: str, parameters: dict[str, Any]) -> None:
    """``watch`` sees every step: tokens committed add up to the sequence, steps to those reported."""
    decoder = make_decoder(name, **parameters)
    draft = process("numpy", DRAFT) if decoder.needs_draft else None
    seen: list[tuple[Any, Any, Any]] = []
    found = run(
        decoder, process("numpy", TARGET), Speculative(), Tape(SEED, REPLICATES), draft, lambda *step: seen.append(step)
    )
    committed = np.array([info.committed for *_, info in seen])
    accepted = np.array([info.accepted for *_, info in seen])
    assert (committed.sum(axis=0) == N).all()
    assert ((committed > 0).sum(axis=0) == found.steps).all()
    assert ((accepted >= 0) & (accepted <= committed)).all()
    for before, after, info in seen:
        assert (after.length - before.length == info.committed).all()
        for row, length in enumerate(before.length):
            assert (after.tokens[row, :length] == before.tokens[row, :length]).all(), "a committed token changed"


def test_fixed_jacobi_is_sequential_decoding_with_the_same_noise() -> None:
    """Its fixed point does not depend on the window: with one uniform a position there is one sequence."""
    rule = Speculative()
    found = [decoded(make_decoder("jacobi", window=w, noise="fixed"), rule, "numpy").tokens for w in (1, 2, 3, 6)]
    assert all(np.array_equal(found[0], other) for other in found)
