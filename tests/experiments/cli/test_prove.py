"""``simlab prove`` as a user meets it: what is proven, what is refuted, what is refused, and what is left in files."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction as F
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import apart
from experiments.cli import judging
from experiments.cli.main import main
from experiments.cli.options import read_value
from experiments.cli.showing import bar
from experiments.judging import at_numbers, proving
from experiments.judging.in_bounds import RuleInBounds
from experiments.judging.measures import codebook
from experiments.judging.proving import prove
from simlab.arrays import at
from simlab.candidates import Candidates, Recursive, Verified
from simlab.decoders import Sjd
from simlab.rules import Amplify, Rule, Speculative, Step
from tests.support.callables import PLAIN, RULES
from tests.support.cli import usage_error
from tests.support.refusals import refused
from theory.failures import CheckFailed
from theory.judge.on_unknowns import BrokenRule, RuleOnUnknowns
from theory.judge.user_rule import Functions
from theory.proofs import making
from theory.symbolic import small_rows
from theory.symbolic.unknown import Refused

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 3


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "mine.py").write_text(RULES)
    return here


def answered(folder: Path, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        (folder / "out" / "proofs" / name / "answer.json").read_text(encoding="utf-8")
    )
    return found


SJD = "--decoder sjd --set window=2"


@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        ("mine.py", 0, "proven for all real rows, mine.py, V = 2 to 3: lossless"),
        ("mine.py:Mine", 1, "refuted mine.py:Mine, V = 2: lossless\n"),
        ("mine.py:Changes --size 2", 0, "proven"),  # of copies
        ("mine.py:Subclass --size V=2 --positive", 0, "proven for all real rows without zeros"),
        ("speculative --size 2 --size V=2", 0, "(7 cells)"),
        ("mine.py:Scaled --size 2 --set k=1.2", 1, "simlab prove mine.py:Scaled --set k=1.2 --at"),
        ("mine.py:Scaled --size 2 --set k=6/5 --that 'tv <= 1/6'", 0, "proven"),
        ("amplify --set k=2 --size 2 --that 'tv <= 1/10'", 1, "simlab prove amplify --set k=2 --at"),
        ("recursive --size 2", 0, "K = 2"),
        ("mine.py:wide --length 2", 0, "sequences of 2: lossless"),
        (f"{SJD} --length 2 --rule mine.py:Mine", 1, "; its target "),
        ("--decoder speculative --set gamma=2 --that 'accepts >= block'", 1, "\naccepts 3/4, block 1\n"),
        (f"{SJD} --length 2 --that 'calls <= sjd-ac'", 0, "proven"),
        (f"{SJD} --rule mine.py:Raises", 3, "\naccept raises RuntimeError: not today"),
        ("mine.py:Asks", 3, "float()"),
        ("mine.py:Loops --limit 0.2", 3, "\nit took longer than --limit 0.2 s\n"),
        ("mine.py:Leaves", 3, "ends the process"),
        ("mine.py:Fickle --size 2", 3, "unknown mine.py:Fickle, V = 2: lossless\n"),  # noticed in one way or other
        ("mine.py:Raises", 1, "\naccept raises RuntimeError: not today\np = (1, 0)\n"),
    ],
)
def test_what_comes_out(line: str, status: int, told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", *shlex.split(line)]) == status
    printed = capsys.readouterr()
    assert told in printed.out
    assert printed.err == ""


def test_the_files_of_a_proof(folder: Path) -> None:
    assert main(["prove", "mine.py", "--json", "copy.json"]) == 0
    out = folder / "out" / "proofs" / "mine"
    assert {path.name for path in out.iterdir()} == {"answer.json", "check.py", "proof-1.smt2", "proof-2.smt2"}
    assert (folder / "copy.json").read_bytes() == (out / "answer.json").read_bytes()
    answer = answered(folder, "mine")
    assert (answer["outcome"], answer["statement"], answer["assumed"]) == ("proven", "lossless", "real rows")
    assert answer["files"] == ["proof-1.smt2", "proof-2.smt2"]
    text = (out / "proof-2.smt2").read_text(encoding="utf-8")
    assert "(set-logic QF_NRA)" in text
    assert "(check-sat)" in text
    assert main(["prove", "mine.py:Mine", "--out", str(out)]) == 1  # nothing is left of what was proven
    assert {path.name for path in out.iterdir()} == {"answer.json"}


def test_a_second_solver_is_asked_and_a_disagreement_is_no_proof(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["prove", "mine.py", "--size", "2"]) == 0
    assert "cvc5 agrees" in capsys.readouterr().out
    out = folder / "out" / "proofs" / "mine"
    question = out / "proof-1.smt2"
    altered = "(set-logic QF_NRA)\n(push 1)\n(assert true)\n(check-sat)\n(pop 1)\n"
    question.write_text(altered, encoding="utf-8")
    with pytest.raises(CheckFailed, match="does not agree"):
        making.second_solver_agrees(out / "check.py", [question])
    right = making.second_solver_agrees

    def disagrees(checker: Path, paths: list[Path], seconds: float) -> bool:
        question.write_text(altered, encoding="utf-8")
        return right(checker, paths, seconds)

    (out / "other").mkdir()  # files of another proof, which are none of this one's
    (out / "other" / "proof-1.smt2").write_text(altered, encoding="utf-8")
    assert main(["prove", "mine.py", "--size", "2"]) == 0
    assert "cvc5 agrees" in capsys.readouterr().out
    monkeypatch.setattr(making, "second_solver_agrees", disagrees)
    assert main(["prove", "mine.py", "--size", "2", "--json", "copy.json"]) == 3
    assert "so it is not proven" in capsys.readouterr().out
    answer = answered(folder, "mine")
    assert answer["outcome"] == "unknown"
    assert "cvc5 contradicts" in str(answer["why"])
    assert json.loads((folder / "copy.json").read_text(encoding="utf-8")) == answer


OTHER_THINGS = f"""{RULES}
import numpy as np
from simlab.candidates import Recursive
from simlab.randomness.enumerator import Enumerator
from theory.symbolic.unknown import Unknown

def by_kind(p, q, x):
    return accept(p, q, x) if p.dtype == object else float(p[x] >= q[x])

def by_type(p, q, x):
    return 1 if isinstance(p[x], Fraction) else accept(p, q, x)

chances = random.Random(3)

def by_chance(p, q, x):
    return 1 if chances.random() < 0.02 else accept(p, q, x)

kind, type_, chance = ((one, residual) for one in (by_kind, by_type, by_chance))

class InFloats(Speculative):
    def step_rows(self, p, q):
        step = super().step_rows(p, q)
        return step if p.dtype == object else step._replace(law=q)

class InFractions(Speculative):
    def step_rows(self, p, q):
        step = super().step_rows(p, q)
        return step._replace(law=q) if isinstance(p.flat[0], Fraction) else step

class Vague(Speculative):
    def step_rows(self, p, q):
        step = super().step_rows(p, q)
        return step if p.dtype == object else step._replace(law=step.law * [1, np.nan])

class OnUnknowns(Speculative):
    def accept_rows(self, p, q, x):
        return super().accept_rows(p, q, x) if isinstance(p.flat[0], Unknown) else super().accept_rows(p, q, x) * 0 + 1

def sometimes(size):
    return Speculative() if size == 2 else InFractions()

class OfCandidates(Recursive):
    def verify(self, p, q, candidates, way):
        found = super().verify(p, q, candidates, way)
        return found if isinstance(p.flat[0], Unknown) else found._replace(drawn=p * 0)

class OfTheFirst(Speculative):
    def accept_rows(self, p, q, x):
        first = (np.broadcast_to(row.reshape(-1, row.shape[-1])[0], row.shape) for row in (p, q))
        return super().accept_rows(*first, x)

class OfTheFirstBeside(Recursive):
    def verify(self, p, q, candidates, way):
        return super().verify(np.broadcast_to(p[0], p.shape), q, candidates, way)

class InEnumerations(Sjd):
    def step(self, state, process, rule, randomness, *more):
        other = Amplify(2) if type(randomness) is Enumerator else rule
        return super().step(state, process, other, randomness, *more)
"""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("kind", "floats get other answers than fractions; p = (1/2, 1/2), q = (3/4, 1/4)"),
        ("type_", "lossless is false there; p = (1/2, 1/2), q = (3/4, 1/4)"),
        ("chance", ""),
        ("InFloats", "floats get other answers than fractions"),
        ("InFractions", "lossless is false there"),
        ("OfCandidates", "lossless is false there"),
        ("OfTheFirst", "rows beside others get other answers than by themselves"),
        ("OfTheFirstBeside", "rows beside others get other answers than by themselves"),
        ("InEnumerations --set window=2 --length 2", "its sequences do not follow a table of V = 2"),
        ("Vague", "floats get other answers than fractions"),
        ("sometimes --size 3", "lossless is false there"),
    ],
)
def test_a_rule_that_does_otherwise_at_numbers_is_not_proven(line: str, why: str, here: Path) -> None:
    (here / "other.py").write_text(OTHER_THINGS)
    assert main(["prove", *shlex.split(f"other.py:{line}"), "--size", "2", "--out", "out"]) == 3
    answer = json.loads((here / "out" / "answer.json").read_text(encoding="utf-8"))
    assert answer["files"] == []
    assert why in str(answer["why"])
    assert not why or str(answer["why"]).startswith(proving.OTHERWISE)


def test_a_rule_to_verify_by_is_tried_at_numbers_too(here: Path) -> None:
    (here / "other.py").write_text(OTHER_THINGS)
    assert main(["prove", *shlex.split(f"{SJD} --length 2 --rule other.py:OnUnknowns"), "--out", "out"]) == 3


def test_rows_of_numbers_are_rows_with_zeros_only_where_they_may_be() -> None:
    for size in range(1, 9):
        for zeros in (False, True):
            rows = [row for pair in at_numbers._pairs(size, zeros) for row in pair]
            assert all(sum(row) == 1 and len(row) == size for row in rows)
            assert zeros or all(min(row) > 0 for row in rows)


def test_of_a_verifier_no_command_for_its_rows_is_told(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert main(["prove", "greedy", "--size", "2", "--that", "accepts <= alpha"]) == 1
    printed = capsys.readouterr().out
    assert "alpha 1/2" in printed
    assert "--at" not in printed


def test_the_rows_that_are_printed_can_be_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "mine.py:Mine"]) == 1
    told = capsys.readouterr().out.splitlines()
    line = next(each for each in told if "--at" in each)
    answer = answered(folder, "mine.Mine")
    assert answer["rows"] == {"p": ["1/2", "1/2"], "q": ["1", "0"]}
    assert answer["values"] == {"law": ["3/4", "1/4"], "accepts": "1/2", "tv": "1/4", "alpha": "1/2"}
    assert main(line.split()[1:]) == 0
    assert re.search(r"^TV +1/4 ", capsys.readouterr().out, re.M)
    assert main(["prove", "mine.py:Floats", "--at", "1/2,1/2", "1/3,2/3"]) == 0
    assert main(["prove", "mine.py:Scaled", "--at", "1/2,1/2", "1/3,2/3", "--set", "k=2"]) == 0
    assert re.search(r"^accepts +1 ", capsys.readouterr().out, re.M)


def test_a_module_that_hangs_when_it_is_imported_is_not_told_to_take_a_longer_limit(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "hangs.py").write_text("while True:\n    pass\n")
    monkeypatch.setattr(apart, "IMPORTING", 0.2)
    assert main(["prove", "hangs.py"]) == 3
    assert "it does not return within 0.2 s" in capsys.readouterr().out
    told = usage_error(["prove", "hangs.py", "--at", "1/2,1/2", "1/3,2/3"], capsys)
    assert told == "simlab: hangs.py does not return within 0.2 s; expected a rule that answers\n"


def test_a_function_from_the_size_to_a_rule_is_shown_as_it_is_proven(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "mine.py:of_size", "--at", "1/2,1/2", "1,0"]) == 0
    assert re.search(r"^accepts +3/4 ", capsys.readouterr().out, re.M)


def test_in_python() -> None:
    def accept(p: np.ndarray, q: np.ndarray, x: int) -> object:
        return min(1, p[x] / q[x])

    def residual(p: np.ndarray, q: np.ndarray, x: int) -> object:
        left = np.maximum(p - q, 0)
        return left / left.sum() if left.sum() > 0 else p

    assert prove((accept, residual), "lossless", 2).outcome == "proven"
    assert prove(Speculative, size=(2,)).outcome == "proven"
    assert prove(lambda size: Amplify(size), size=2).outcome == "counterexample"
    assert prove(Sjd(window=1), length=2, rule=(accept, residual)).outcome == "proven"
    assert prove("speculative", size=1, limit=0).why.startswith("it took 0 s")
    with pytest.raises(ValueError, match="expected none"):
        prove(Speculative, size=2, rule=Speculative)


class Half(Rule):
    """Accepts half of all drafts; the rest that brings the law to p is below 0 where q is above 2p."""

    def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, F(1, 2) if p.dtype == object else 0.5)

    def weights_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return 2 * p - q


class Two(Half):
    def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, 2)

    def weights_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return 2 * q - p


class Claims(Speculative):
    """Says of its step what is not so."""

    def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, 1)

    def step_rows(self, p: np.ndarray, q: np.ndarray) -> Step:
        return Speculative().step_rows(p, q)


class Beyond(Recursive):
    """Accepts more than there is, and draws less than nothing."""

    def verify(self, p: np.ndarray, q: np.ndarray, x: np.ndarray, candidates: Candidates) -> Verified:
        return Verified(2 * p, -p)


class Whatever(Recursive):
    """Calls accepted whatever it draws."""

    def verify(self, p: np.ndarray, q: np.ndarray, x: np.ndarray, candidates: Candidates) -> Verified:
        return Verified(p, p * 0)


class WithOnes(Rule):
    """A lossless rule with a written 1.0, which makes floats of fractions."""

    def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, at(p, x) / np.where(at(q, x) > 0, at(q, x), 1))


class Overwrites(Speculative):
    """Writes q into the row that it was given for p, and emits that."""

    def step_rows(self, p: np.ndarray, q: np.ndarray) -> Step:
        p[...] = q
        return super().step_rows(p, q)

    def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, 1)


class OverwritesBeside(Recursive):
    """The same of a verifier, where the row can be written into."""

    def verify(self, p: np.ndarray, q: np.ndarray, x: np.ndarray, candidates: Candidates) -> Verified:
        if p.flags.writeable:
            p[...] = q
        return Verified(p * 0, p)


class Everything(Rule):
    def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> Any:
        return 1  # which stands for all drafts


@pytest.mark.parametrize(
    ("subject", "that", "outcome", "why"),
    [
        (Half, "lossless", "counterexample", "the residual for x = 1 holds -1; expected probabilities >= 0"),
        (Two, "accepts > 1", "counterexample", "accept_rows gives 2 for x = 0; expected a number from 0 to 1"),
        (Claims, "lossless", "counterexample", "step_rows gives another step"),
        (lambda size: Half(), "lossless", "counterexample", "the residual for x = 1 holds -1"),
        (Beyond, "accepts >= 2", "unknown", "for the candidates 0, 0 holds"),
        (Whatever, "accepts >= alpha", "unknown", "it accepts 1 for the candidates 0, 0; expected one of them"),
        (Recursive(rule=Half()), "lossless", "unknown", "expected probabilities >= 0"),
        (Overwrites, "lossless", "counterexample", ""),
        (OverwritesBeside, "lossless", "counterexample", ""),
        (Everything, "accepts == 1", "proven", ""),
    ],
)
def test_masses_that_are_no_probabilities_prove_nothing(subject: Any, that: str, outcome: str, why: str) -> None:
    found = prove(subject, that, size=2)
    assert found.outcome == outcome, found
    assert why in found.why


def test_a_written_one_says_what_it_means() -> None:
    assert prove(WithOnes, size=3).outcome == "proven"


def test_a_decoder_proves_nothing_by_a_rule_that_breaks_its_contract() -> None:
    found = prove(Sjd(window=1), length=2, rule=Half())
    assert found.outcome == "unknown"
    assert found.why.startswith("of the rule that it verifies by: the residual for x = 1 holds -1;")
    assert found.why.endswith("p = (1, 0); q = (0, 1)")
    assert prove(Sjd(window=1), length=2, rule=WithOnes()).outcome == "proven"


def test_a_verifier_of_this_house_is_tried_with_the_rule_that_was_brought() -> None:
    class InFloats(Speculative):
        def accept_rows(self, p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
            found = super().accept_rows(p, q, x)
            return found if p.dtype == object else found * 0 + 1

    found = prove(Recursive(rule=InFloats()), size=2)
    assert found.outcome == "unknown"
    assert "floats get other answers than fractions" in found.why


@pytest.mark.parametrize("subject", [WithOnes(), Recursive(rule=WithOnes())])
def test_what_floats_round_refutes_nothing(subject: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_rows, "SEARCH", 0.5)
    found = prove(subject, size=3, limit=0)  # so that it is only looked for rows at which it fails
    assert found.outcome == "unknown", found
    assert found.why.startswith("it took 0 s")


def test_floats_at_rows_of_large_denominators_say_too_little() -> None:
    small, large = (np.array([[F(1, size), F(size - 1, size)]], dtype=object) for size in (7, 1_000_003))
    assert (RuleInBounds(WithOnes()).step_rows(small, small[:, ::-1]).law == small).all()
    with pytest.raises(Refused, match="it answers with floats"):
        RuleInBounds(WithOnes()).step_rows(large, small)


def test_a_rule_that_raises_now_and_then_is_unknown() -> None:
    calls = count()

    def accept(p: np.ndarray, q: np.ndarray, x: int) -> object:
        if next(calls) % 7 < 3:
            raise RuntimeError("not now")
        return 1

    found = prove((accept, lambda p, q, x: p), "accepts == 1", size=2)
    assert (found.outcome, found.why) == ("unknown", f"at the rows that were found {proving.FICKLE}")


def test_a_number_that_no_float_holds_is_refused() -> None:
    for number in ("0.24999999999999999999", "1e-400", ".33333333333333333333"):
        refused(lambda of=f"tv<={number}": prove(Speculative, of, size=2), number, "digits")
    for read in ("0.1", "1e-3", ".5", "1_0.5", "1/3", "1."):
        assert prove(Speculative, f"tv <= {read}", size=2).outcome == "proven"


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long numbers are no longer than others")
def test_a_long_number_beside_a_whole_one_is_not_whole() -> None:
    less = np.longdouble(1) - np.longdouble(2) ** -60
    assert prove((lambda p, q, x: less, lambda p, q, x: p), "accepts == 1", size=2).outcome == "unknown"


def test_what_is_judged_of_a_codebook_is_proven_of_the_same(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = float(codebook(3, 4)[0, 0])
    (here / "near.py").write_text(
        f"{PLAIN}\ndef make(codebook):\n    return accept, residual\n"
        f"\ndef held(codebook):\n    assert len(codebook) != 4 or codebook[0, 0] == {first}\n"
        "    return accept, residual\n"
    )
    assert main(["prove", "near.py:make", "--size", "2"]) == 0
    assert "near.py:make of the codebook of seed 0, V = 2: lossless" in capsys.readouterr().out
    monkeypatch.setattr(judging, "judged", lambda *given: (0, "lossless"))
    assert main(["prove", "near.py:held", "--size", "4", "--judge", "--seed", "3"]) == 0
    assert "near.py:held of the codebook of seed 3, V = 4: lossless" in capsys.readouterr().out


def test_a_function_of_other_arguments_is_refuted_in_a_process_of_its_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "two.py").write_text("def accept(p, q):\n    return 1\n\ndef residual(p, q, x):\n    return p\n")
    assert main(["prove", "two.py"]) == 1
    assert "takes 2 positional arguments but 3 were given\np = (1, 0)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("chance", "drawn", "error", "told"),
    [
        (F(1, 2), [1, 1], BrokenRule, "residual for x = 0 sums to 2; expected 1"),
        (F(3, 2), [1, 0], BrokenRule, "accept returns 3/2 for x = 0; expected one number from 0 to 1"),
        (np.nan, [1, 0], BrokenRule, "accept returns NaN"),
        (0.5, [1, 0], Refused, "accept answers 0.5, a float"),
    ],
)
def test_answers_are_read_strictly(chance: object, drawn: list[object], error: type[Exception], told: str) -> None:
    rule = RuleOnUnknowns(lambda size: Functions(lambda p, q, x: chance, lambda p, q, x: np.array(drawn, dtype=object)))
    row = np.array([[F(1, 2), F(1, 2)]], dtype=object)
    with pytest.raises(error, match=told):
        rule.step_rows(row, row)


# What a rule does at two rows --------------------------------------------------------------------------------------


def test_the_numbers_are_exact(capsys: pytest.CaptureFixture[str]) -> None:
    for p, q, accepts in (("0.5,0.25,0.25", "0.25,0.5,0.25", "0.7500"), ("0.3,0.7", "0.6,0.4", "0.7000")):
        assert main(["prove", "speculative", "--at", p, q]) == 0
        assert re.search(rf"^accepts +{accepts}.*lossless here", capsys.readouterr().out, re.M | re.S)
    assert main(["prove", "grouped", "--at", "1/3,1/3,1/3", "1/4,1/2,1/4", "--set", "labels=0,0,1"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[3] for line in told.splitlines()[1:4]] == ["19/72", "4/9", "7/24"]
    for name, number in (("accepts", "11/12"), ("TV", "1/9"), ("frontier", "17/18")):
        assert re.search(rf"^{name} +{number}\b", told, re.M)
    assert "1 - TV(p, q) = 5/6" in told


def test_neighbours_are_those_next_in_number(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["prove", "lantern", "--at", "0.4,0.3,0.2,0.1", "0.1,0.2,0.3,0.4", "--set", "delta=0.3"]
    assert main(asked) == 0
    near = capsys.readouterr().out
    assert main([*asked, "--set", "neighbours=[[3], [2], [1], [0]]"]) == 0
    assert capsys.readouterr().out != near


def test_values() -> None:
    assert read_value("1/2") == F(1, 2)
    assert read_value('{"groups": 2, "seed": 1}') == {"groups": 2, "seed": 1}
    assert read_value("tv") == "tv"
    assert bar(1) == 30 * "█"
    assert bar(1 / 30 / 4) == "▎"
