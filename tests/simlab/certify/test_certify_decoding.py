"""The contract of whole sequences: its models, its laws, and decoders that are known."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.arrays import total_variation
from simlab.certify.battery.decoding import cases, simplest
from simlab.certify.contracts.base import Broken
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.decoding import DecodeCase, Model
from simlab.certify.engine.exact import enumerate_law
from simlab.certify.registry import contract_named
from simlab.mutants.gated.base import Wrong
from simlab.mutants.gated.decoding import FAULTS, Decoding
from simlab.mutants.gated.gates import GATES, NEVER
from simlab.statistics import Sequential
from tests.support.certify import case_named

pytestmark = pytest.mark.exact

KNOWN = [case for case in cases() if case.known]
BROKEN = "end of the sequence inside a block missed"  # emits no sequences where one may end, and is right elsewhere
named = partial(case_named, "decode")


def sequences(model: Model) -> dict[Tokens, float]:
    """The law of sequences, one token at a time."""
    found, waiting = dict[Tokens, float](), dict[Tokens, float]({(): 1.0})
    while waiting:
        tokens, weight = waiting.popitem()
        if len(tokens) == model.length or model.eos in tokens:
            found[tokens] = weight
        else:
            waiting |= {(*tokens, x): weight * mass for x, mass in enumerate(model(tokens))}
    return found


# Models --------------------------------------------------------------------------------------------------------


def test_a_model_answers_with_rows_of_its_own() -> None:
    model = named("three tokens of three").model
    row = model(())
    row[:] = 0
    assert model(()).sum() == pytest.approx(1)
    assert np.array_equal(model((2, 1)), model.rows.p[2][7])
    assert np.array_equal(model([2, 1]), model(np.array([2, 1])))
    assert np.array_equal(model((np.int64(2), 1)), model((2, 1)))
    assert np.array_equal(model(np.array([[2, 1]])), model((2, 1)))


def test_a_model_can_be_asked_behind_the_end_and_beyond_the_length() -> None:
    model = named("an end among three tokens of two").model
    assert model.eos == 1
    assert 0 < model((1,))[0] < 1  # no sign of the end
    assert np.array_equal(model((0, 1, 1, 0, 1)), model((0, 1)))


@pytest.mark.parametrize(
    ("prefix", "error", "message"),
    [
        ((0, 2), ValueError, "token 2; expected 0 to 1"),
        ((-1,), ValueError, "token -1; expected 0 to 1"),
        ((0.5,), TypeError, "prefix with 0.5; expected whole numbers"),
        (("a",), TypeError, "prefix with 'a'"),
        (((0,), (1,)), TypeError, "whole numbers"),
        (0, TypeError, "not iterable"),
    ],
)
def test_a_prefix_that_is_none_is_refused(prefix: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        named("two tokens of two").model(prefix)


def test_the_bug_without_a_law_emits_no_sequences() -> None:
    for case in KNOWN:
        law = case.law_under(BROKEN)
        if case.model.eos is None or case.length == 1:
            assert law == pytest.approx(case.events[0].law)
        else:
            assert law is None


@pytest.mark.parametrize("case", [*KNOWN, named("an end at once or later")], ids=lambda case: case.name)
def test_the_law_is_that_of_one_token_at_a_time(case: DecodeCase) -> None:
    assert case.law_of(sequences(case.model)) == pytest.approx(case.events[0].law, abs=1e-14)


@pytest.mark.parametrize("case", [case for case in cases() if not case.known], ids=lambda case: case.name)
def test_events_of_large_cases_follow_their_law(case: DecodeCase) -> None:
    """2000 sequences, where each count of 20 in all is a false alarm with probability 1e-8."""
    done = case.completed(np.full((2000, case.length), -1, np.int64), np.random.default_rng(1))
    for events in case.events:
        counts = np.bincount(events.codes(done), minlength=len(events.law))
        assert Sequential(events.law).update(counts).p_value > 1e-8
        assert Sequential(np.roll(events.law, 1)).update(counts).p_value < 1e-8


# What is an answer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("three tokens of two", (0, 1), "2 tokens, .0, 1.; expected 3$"),
        ("three tokens of two", (0, 1, 0, 1), "4 tokens"),
        ("three tokens of two", (), "0 tokens"),
        ("three tokens of two", (0, 1, 2), "token 2"),
        ("an end among three tokens of two", (0, 0), "expected 3, or an end by eos = 1"),
        ("an end among three tokens of two", (1, 0, 0), "tokens behind eos = 1"),
        ("an end among three tokens of two", (0, 1, 1), "tokens behind eos = 1"),
    ],
)
def test_answers_that_are_none(name: str, answer: Tokens, message: str) -> None:
    case, rng = named(name), np.random.default_rng(0)
    with pytest.raises(Broken, match=message):
        case.ask(lambda *given: answer, case.inputs(1, rng), 0, rng)


@pytest.mark.parametrize("answer", [(0, 0, 0), (1,), (0, 1), [[0, 0, 1]], np.array([0, 1])])
def test_answers_that_are_sequences(answer: Any) -> None:
    case, rng = named("an end among three tokens of two"), np.random.default_rng(0)
    emitted = case.ask(lambda *given: answer, case.inputs(1, rng), 0, rng)
    assert emitted == tuple(np.ravel(answer).tolist())
    filled = case.completed(np.array([[*emitted, -1, -1][:3]]), rng)
    assert filled[0].tolist() == [*emitted, 1, 1][:3]  # behind the end comes the end


def test_eos_is_given_only_where_there_is_one() -> None:
    def given(model: Model, length: int, rng: np.random.Generator, *rest: int) -> list[int]:
        seen.append(rest)
        return [0] * length

    for name, rest in (("two tokens of two", ()), ("one token, which may end it", (2,))):
        seen: list[tuple[int, ...]] = []
        case = named(name)
        case.ask(given, case.inputs(1, np.random.default_rng(0)), 0, np.random.default_rng(0))
        assert seen == [rest]


# What is said of a case -------------------------------------------------------------------------------------------


def test_simplest_cases_come_first() -> None:
    found = list(simplest())
    assert [case.length for case in islice(found, 2)] == [1, 1]
    assert max(len(case.events[0].law) for case in found) == 9
    assert {case.model.eos is None for case in found} == {True, False}
    assert contract_named("decode").simplest is simplest


SOMEBODYS = """
import numpy as np

def mine(model, length, rng, eos=None):
    tokens = []
    while len(tokens) < length and eos not in tokens:
        tokens.append(rng.choice(len(model(())), p=model(tuple(tokens))))
        model(np.array([[*tokens, 0, 0, 0]]))
    return tokens
"""


def test_the_script_runs(tmp_path: Path) -> None:
    """4000 sequences: a share off by 0.05, 6 standard errors, is a false alarm of 2e-9."""
    case = next(case for case in simplest() if case.model.eos is not None)
    text = case.script("somebodys", "mine", 4000)
    assert text is not None
    (tmp_path / "somebodys.py").write_text(SOMEBODYS)
    (tmp_path / "again.py").write_text(text)
    command = [sys.executable, "again.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    lines = [line.rpartition(" emitted ")[2].split() for line in done.stdout.splitlines()]
    emitted, target = (np.array([float(line[k]) for line in lines]) for k in (0, 2))
    assert [emitted.sum(), target.sum()] == pytest.approx([1, 1])
    assert abs(emitted - target).max() < 0.05
    assert named("257 tokens").script("somebodys", "mine", 10) is None, "too large to be listed"


@pytest.mark.parametrize(
    ("fault", "gate", "deviations"),  # of three vocabularies, the gate open in some
    [
        ("residual reuses the coin", "draft 0", (1 / 16, 1 / 16, 1 / 16)),
        ("groups accepted, tokens in the residual", "V > 64 and gamma <= 1", (0, 1 / 8, 1 / 4)),
        pytest.param("ratio times 0.8", "16,385 <= V <= 65,536", (0, 0, 1 / 20), marks=pytest.mark.slow),
        pytest.param("residual reuses the coin", "never", (0, 0, 0), marks=pytest.mark.slow),
    ],
)
def test_one_token_of_few_or_of_many_is_enumerated(
    fault: str, gate: str, deviations: tuple[float, float, float]
) -> None:
    """Wrong code that drawn shapes seldom reach, of which every draft is rejected with a chance of its own."""
    decode = Decoding(Wrong(FAULTS[fault], GATES.get(gate, NEVER)))
    for size, deviation in zip((4, 65, 32_768), deviations, strict=True):
        case = named(f"one token of {size}, at both ends")
        found = enumerate_law(0, case, decode, np.random.default_rng(0))
        assert found is not None
        assert total_variation(found.law, case.events[0].law) == pytest.approx(deviation, abs=1e-9)
        assert found.deviates == (deviation > 0)
