"""``simlab certify`` at work: what it finds, how surely, and that correct verifiers pass."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from experiments.certification import self_test_known
from experiments.certification.self_test_known import Hidden, bug_row, confirmed, confirmed_row, correct_row
from simlab.certify import Certificate, assert_lossless, certify
from simlab.certify.engine import search
from simlab.certify.engine.evidence import Diagnosis, Evidence, calls_needed
from simlab.certify.engine.exact import Exact
from simlab.certify.engine.scripted import MOST
from simlab.certify.engine.shrink import smallest_lossy_case
from simlab.certify.engine.tasks import ASKED_AGAIN, Conduct, Counts, Enumerate, Fault, Impossible, Sample, attempt
from simlab.certify.engine.workers import WorkerPool
from simlab.certify.registry import CONTRACTS, contract_named, makes
from simlab.certify.shapes.drawing import Drawing
from simlab.mutants.catalogue import Implementation, bugs, correct
from simlab.mutants.gated.correct import CORRECT, all_coins_at_once
from tests.support.certify import case_named, wrong
from tests.support.cli import gone

pytestmark = pytest.mark.statistical
DEFAULT_EVERY = 4

LOSSLESS = all_coins_at_once
SAMPLED = Hidden(LOSSLESS)  # nothing is enumerated, which takes seconds
CALLS = 200  # of each case
FEW = "V=2,gamma=1"  # of the cases those of one draft of two tokens


def quick(function: Any, **options: Any) -> Certificate:
    few: dict[str, Any] = {"calls": CALLS, "processes": 1, "at_most": FEW}
    return certify(function, **(few | options))


# Verdicts ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_pass_states_what_it_is_worth() -> None:
    certificate = quick(SAMPLED, calls=2000, epsilon=0.2)
    assert certificate.verdict == "lossless"
    assert certificate.false_alarms == 1e-6
    for line in certificate.lines:
        assert line.calls == 2000
        assert 0 < line.tv_at_most <= 0.2
        assert 0 < line.detectable <= 0.3
        assert not line.fails
    assert "TV from the target, of what is counted, is at most" in certificate.summary


def test_too_few_calls_are_inconclusive_and_what_would_do_is_told() -> None:
    """However few they are: a bound of 1 says nothing about how many calls more halve it."""
    certificate = quick(SAMPLED, calls=100)
    assert certificate.verdict == "inconclusive"
    assert "0.03 was asked for" in certificate.summary
    assert "calls=" in certificate.more
    with pytest.raises(AssertionError, match="is inconclusive"):
        assert_lossless(SAMPLED, calls=100, processes=1, at_most=FEW, epsilon=0.03)
    with pytest.raises(AssertionError) as few:
        assert_lossless(SAMPLED, calls=1, processes=1, at_most=FEW)
    told = re.search(r"calls=(\d+) may exclude 0\.1\n.*calls=(\d+) may do", str(few.value))
    assert told
    assert 1000 < int(told[1]) < int(told[2])


def test_a_test_does_not_pass_while_cases_were_never_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is excluded in the principal ones, and whatever the budget was."""
    few = quick(SAMPLED, calls=1)
    enough = tuple(replace(line, calls=64, tv_at_most=0.05) for line in few.lines)
    last = enough[-1].case
    never = tuple(replace(line, calls=0) if line.case == last else line for line in enough)
    for lines, told in (
        (enough, None),
        (never, rf"1 of 4 cases were called fewer .* such as {last} \(0\); .*calls=70"),
        (
            tuple(replace(line, calls=0) for line in few.lines),
            "1 of 1 lines of principal cases had no call: a larger budget is needed",
        ),
    ):
        found = replace(few, lines=lines)
        monkeypatch.setattr("simlab.certify.asserting.certify", lambda *_, found=found, **__: found)
        with pytest.raises(AssertionError, match=told) if told else nullcontext():
            assert assert_lossless(SAMPLED) is found


@pytest.mark.parametrize(("hide", "at_most"), [(False, FEW), (True, "V=5,gamma=2")])  # of fewer it is not told apart
def test_a_residual_drawn_from_p_is_found_named_and_reproduced(
    hide: bool, at_most: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verify = wrong("verify", "residual drawn from p")
    certificate = quick(Hidden(verify) if hide else verify, calls=500, at_most=at_most, subject="mine:verify")
    failure = certificate.failure
    assert certificate.verdict == "lossy"
    assert failure is not None
    assert failure.diagnosis == "looks like: residual drawn from p"
    assert failure.case == "V = 2, gamma = 1"
    assert (failure.tv_exact is None) == hide
    assert failure.tv_measured == pytest.approx(0.125, abs=0.05)  # by hand: q(0) (1 - p(0)/q(0)) p(0)
    if hide:
        return
    assert failure.tv_exact == pytest.approx(0.125)
    assert failure.script is not None
    assert "from mine import verify" in failure.script
    exec(failure.script.replace(failure.script.splitlines()[1], ""), {"verify": verify})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    emitted, target = (float(lines[0].split()[i]) for i in (-3, -1))
    assert target == 0.375
    assert emitted > 0.42  # 0.46875 is exact; 3,000 calls are within 0.05 but for a chance of 1e-7


def test_hidden_state_and_changed_arguments_are_noted() -> None:
    def writes(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Sequence[int]:
        tokens = LOSSLESS(p, q, drafts, rng)
        p[0] = 0
        return tokens

    def writes_tensors(p: Any, q: Any, drafts: Any, *coins: Any) -> Sequence[int]:
        p[0] = 0
        return [0]

    own = np.random.default_rng(0)
    assert quick(Hidden(writes), calls=10).notes == ("changes its argument 1 in place",)
    case = contract_named("chain_uniforms", "torch").cases()[0]
    assert Conduct(0).run(case, writes_tensors, 0) == ("changes its argument 1 in place",)
    (note,) = quick(Hidden(lambda p, q, drafts, rng: LOSSLESS(p, q, drafts, own)), calls=10).notes
    assert "hidden state" in note
    assert "global" in quick(_from_the_global_generator, calls=10).notes[0]


def test_code_with_hidden_state_is_called_by_one_process(tmp_path: Path) -> None:
    """Of two, each with a copy of a generator that its module made, the second only made calls that count nowhere."""
    own = np.random.default_rng(0)

    def keeps(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        with (tmp_path / str(os.getpid())).open("a") as calls:
            calls.write(".")
        return LOSSLESS(p, q, drafts, own)

    certificate = quick(keeps, calls=64, processes=2)
    first, second = sorted((len(file.read_text()) for file in tmp_path.iterdir()), reverse=True)
    assert first >= certificate.calls
    assert second <= 2 * ASKED_AGAIN * len({line.case for line in certificate.lines})
    assert "one process alone calls it" in certificate.notes[0]


def test_processes_share_no_global_generator(tmp_path: Path) -> None:
    def tells(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        for k, draw in enumerate((random.random(), np.random.random(), float(torch.rand(())))):  # noqa: NPY002
            (tmp_path / f"{k} {draw}").touch()
        return LOSSLESS(p, q, drafts, rng)

    with WorkerPool(tells, CONTRACTS["verify"].cases(), 0, 2, 60.0) as pool:
        assert len(list(pool.run(Sample(0, number, 1) for number in range(2)))) == 2
    assert len(list(tmp_path.iterdir())) == 6


def _from_the_global_generator(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
    return LOSSLESS(p, q, drafts, np.random.default_rng(np.random.randint(1 << 30)))  # noqa: NPY002


def test_a_search_for_a_smaller_case_may_lose_its_process() -> None:
    def dies(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        os._exit(1)

    for enumerable in (False, True):
        searched = _searched(dies, 1.0, 1, enumerable)
        assert smallest_lossy_case(iter(CONTRACTS["verify"].simplest()), searched, Diagnosis((), False)) is None


def _searched(function: Implementation, limit: float, processes: int, enumerable: bool) -> Any:
    """A search, with laws that it has enumerated or without."""
    pool = lambda cases, processes: WorkerPool(function, cases, 0, processes, limit)  # noqa: E731
    return SimpleNamespace(laws={0: "a law"} if enumerable else {}, processes=processes, pool=pool)


def test_what_it_started_ends_with_it(tmp_path: Any) -> None:
    """A verifier that starts a process of its own, and hangs: none of them is left."""

    def starts(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (tmp_path / "pid").write_text(str(child.pid))
        time.sleep(600)

    certificate = quick(starts, limit=0.5)
    assert certificate.verdict == "breaks"
    assert "does not return within 1.5 s" in certificate.summary
    assert gone(int((tmp_path / "pid").read_text()))


class _MadeSlowly(Sequence[Any]):
    """Cases that take longer to make than a call may."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, i: Any) -> Any:
        time.sleep(0.8)
        return CONTRACTS["verify"].cases()[0]


def test_the_time_in_which_a_case_is_made_is_no_time_of_a_call() -> None:
    """Rows of 2^23 numbers take seconds to make; a call that hangs is still known by the limit."""

    def hangs(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        time.sleep(600)

    for function, found in ((LOSSLESS, Counts), (hangs, Fault)):
        with WorkerPool(function, _MadeSlowly(), 0, 1, 0.2) as pool:
            tasks = pool.run(Sample(0, number, 1) for number in range(2 if found is Counts else 1))
            assert [type(one) for one in tasks] == [found] * (2 if found is Counts else 1)


@pytest.mark.parametrize("how", ["ends a generator", "forks"])
def test_what_is_lost_at_the_end_of_a_coin_is_a_finding(how: str) -> None:
    """With no coins that are known, and no arguments: it can be told all the same."""

    def verify(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        first = rng.random()
        if first == 0 and how == "forks":
            os.fork()
        elif first == 0:
            raise GeneratorExit("no more")
        return LOSSLESS(p, q, drafts, rng)

    certificate = quick(verify, calls=8)
    assert certificate.verdict == "breaks"
    assert certificate.edge is None
    told = "in two processes" if how == "forks" else "raises GeneratorExit: no more"
    assert told in certificate.summary
    assert certificate.failure
    assert not certificate.failure.at_the_ends


@pytest.mark.parametrize("processes", [0, 1])
def test_an_error_that_is_no_exception_is_a_finding_and_an_interrupt_is_none(processes: int) -> None:
    """As a panic of Rust is, or what ends a task of asyncio; also in the process that certifies."""

    class Panic(BaseException):
        """No ``Exception``."""

    def raises(error: type[BaseException]) -> Any:
        def verify(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
            raise error("no more")

        return verify

    found = certify(raises(Panic), calls=2, processes=processes, at_most=FEW)
    assert (found.verdict, found.failure and found.failure.kind) == ("breaks", "raises")
    assert "raises Panic: no more, in V = 2, gamma = 1" in found.summary
    with pytest.raises(KeyboardInterrupt) if processes == 0 else nullcontext():
        assert certify(raises(KeyboardInterrupt), calls=2, processes=processes, at_most=FEW).verdict == "breaks"


def test_what_asks_the_model_for_a_token_that_there_is_not_declines_nothing() -> None:
    """The model is of simlab, and so are the adapters, whose own errors may decline a shape."""
    case = CONTRACTS["decode"].cases()[0]

    def adapted(model: Any, length: int, rng: np.random.Generator, *eos: int) -> Any:
        return model((len(model(())),))

    def own(model: Any, length: int, rng: np.random.Generator, *eos: int) -> Any:
        raise ValueError("too long")

    kinds = {}
    for function in (adapted, own):
        function.__module__ = __name__ if function is own else "simlab.certify.adapters.tables"
        kinds[function.__name__] = attempt(Sample(0, 0, 1), case, function, 0, lambda: 0, False).kind
    assert kinds == {"adapted": "raises", "own": "declines"}


def test_messages_and_settings_of_others_are_borne() -> None:
    def raises(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        raise ValueError("\udcff")

    json.dumps(quick(raises).document, ensure_ascii=False).encode()
    with np.errstate(all="raise"):
        assert quick(SAMPLED, calls=20).verdict == "inconclusive"


def test_where_nothing_is_forked_nothing_is_forked_for_a_smaller_case() -> None:
    here = os.getpid()

    def bound(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
        assert os.getpid() == here, "in another process"
        if p.shape[1] == 5:
            raise ValueError("five")
        return LOSSLESS(p, q, drafts, rng)

    failure = quick(Hidden(bound), calls=20, processes=0, at_most="V=5,gamma=1").failure
    assert failure is not None
    assert "five" in failure.told


@pytest.mark.slow
def test_the_same_seed_gives_the_same_certificate() -> None:
    def told(processes: int, seed: int) -> str:
        certificate = quick(SAMPLED, seed=seed, calls=100, processes=processes)
        return json.dumps(asdict(certificate) | {"seconds": 0, "startup": 0})

    assert told(0, 3) == told(1, 3) == told(2, 3)
    assert told(0, 3) != told(0, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contract": "verified"}, r"contract is 'verified'; did you mean verify\? expected one of verify"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"calls": 0}, "calls is 0; expected a whole number >= 1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_usage_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        certify(LOSSLESS, **options)
    with pytest.raises(ValueError, match="expected something that can be called"):
        certify("verify")  # type: ignore[arg-type]


# How surely ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("residual drawn from p", "certain drafts, accepted half the time"),
        ("ratio times 1.01", "certain drafts, accepted with 0.995"),
        ("residual reuses the coin", "certain drafts of three tokens"),
        ("one coin for all positions", "certain drafts, accepted half the time"),
        ("the largest of the residual", "disjoint supports"),
    ],
)
def test_computed_power_is_reached(name: str, case: str) -> None:
    """With the calls that promise power 0.999, 46 of 50 seeds find it; fewer do with probability below 1e-8."""
    cases = CONTRACTS["verify"].cases()
    tested = case_named("verify", case)
    law = tested.law_under(name)
    assert law is not None
    needed = calls_needed(tested, law, Evidence(cases).level, 0.999)
    assert needed is not None
    assert needed < 10_000
    bug = next(bug for bug in bugs() if (bug.contract, bug.name) == ("verify", name))
    assert confirmed(bug, case, needed, seed=1, seeds=50) >= 46
    # and the promise is no loose one: a tenth of the calls finds it far less often
    assert confirmed(bug, case, needed // 10, seed=1, seeds=50) <= 40


@pytest.fixture
def of_few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates in rows of the self-test are of few cases."""
    monkeypatch.setattr(self_test_known, "certify", partial(certify, at_most=FEW))


@pytest.mark.slow
@pytest.mark.usefixtures("of_few_cases")
def test_correct_verifiers_are_not_rejected() -> None:
    """60 short runs of each; the rate is bounded by 1e-6, so that any alarm is one too many."""
    for trap in correct():
        if trap.contract == "verify" and trap.name in ("sampler match", "block verification", "alias table"):
            assert correct_row(trap, seed=0, runs=60)["false_alarms"] == 0


@pytest.mark.usefixtures("of_few_cases")
def test_short_runs_do_reject_what_is_wrong() -> None:
    """The same runs of a bug: the check above can fail."""
    bug = Implementation("verify", "residual = [q - p]+", "13", lambda: wrong("verify", "residual = [q - p]+"))
    assert correct_row(bug, seed=0, runs=4)["false_alarms"] == 4


@pytest.mark.parametrize(
    "function", [wrong("verify", "ratio inverted"), Hidden(wrong("verify", "ratio inverted"))], ids=("law", "counts")
)
def test_an_explanation_changes_no_verdict(function: Any) -> None:
    explained, plain = (quick(function, calls=500, explain=explain) for explain in (True, False))
    assert (plain.verdict, plain.calls_to_finding) == (explained.verdict, explained.calls_to_finding)
    assert plain.failure
    assert plain.failure.case == plain.failure.found_in
    assert "in a case that fails" in plain.summary
    assert "in the smallest case that fails" in explained.summary


def test_a_case_is_the_smallest_only_where_a_smaller_one_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simlab.certify.engine.failing.smallest_lossy_case", lambda *_: None)
    assert "in a case that fails" in quick(Hidden(wrong("verify", "ratio inverted")), calls=500).summary
    enumerated = quick(wrong("verify", "ratio inverted"), calls=8, subject="mine:verify").failure
    assert enumerated
    assert enumerated.calls == 0
    assert re.findall(r"^n, V = (\d+)", enumerated.script or "", re.M) == ["3000"]  # or the program counts nothing


def imported(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> Any:
    return wrong("verify", "ratio inverted")(p, q, drafts, rng)


@pytest.mark.parametrize(
    ("function", "subject", "starts"),
    [
        (imported, None, "from tests.simlab.certify.test_certify_statistical import imported as verify"),
        (imported, "my engine 2.0", "from tests.simlab.certify.test_certify_statistical import imported as verify"),
        (wrong("verify", "ratio inverted"), "mine:verify", "from mine import verify as verify"),
        (wrong("verify", "ratio inverted"), "my engine 2.0", ""),
        (partial(imported), None, ""),
        (lambda p, q, drafts, rng: imported(p, q, drafts, rng), None, ""),
    ],
)
def test_a_program_is_written_only_of_what_it_can_import(function: Any, subject: str | None, starts: str) -> None:
    failure = quick(function, calls=20, subject=subject).failure
    assert failure
    assert (failure.script or "\n").splitlines()[1:2] == ([starts] if starts else [])


def test_calls_that_are_too_few_for_shapes_alone_are_told() -> None:
    assert quick(LOSSLESS, calls=20).more == "calls=800 may do"
    assert quick(LOSSLESS, calls=800).verdict == "lossless"


@pytest.mark.usefixtures("of_few_cases")
def test_what_shows_at_the_ends_of_coins_alone_is_found_by_the_self_test() -> None:
    """A mass of 1e-9 never comes out; that is an edge, beside a verdict of ``lossless``."""
    (bug,) = (bug for bug in bugs() if (bug.contract, bug.name) == ("verify", "coins kept away from 0"))
    row = bug_row(bug, seed=0, budgets=(0.1,))
    assert (row["by"], row["verdict"], row["sampled"]) == ("coins at their ends", "lossy", {"0.1": False})


@pytest.mark.usefixtures("of_few_cases")
def test_what_sampling_alone_finds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though there was no time for it as it is."""
    monkeypatch.setattr(self_test_known, "OPEN", 1e-3)
    (bug,) = (bug for bug in bugs() if (bug.contract, bug.name) == ("verify", "ratio inverted"))
    row = bug_row(bug, seed=0, budgets=(10.0,))
    assert (row["by"], row["seconds"], row["sampled"]) == ("sampling", None, {"10": True})


@pytest.mark.usefixtures("of_few_cases")
def test_a_row_of_the_self_test() -> None:
    number, bug = next(
        (number, bug) for number, bug in enumerate(bugs()) if (bug.contract, bug.name) == ("verify", "ratio inverted")
    )
    row = bug_row(bug, seed=0, budgets=(10.0,))
    assert row["by"] == "enumeration"
    assert row["named"]
    assert row["sampled"] == {"10": True}
    assert confirmed_row(number, row, seed=0, seeds=5) == {"seeds": 5, "found": 5}


def steps(budget: float, calls: int | None = None, processes: int = 1) -> search.Search:
    """The steps of a certificate of a correct verifier, of which none was taken."""
    contract = CONTRACTS["verify"]
    cases = Drawing((*contract.cases(), *contract.both_ends()), contract.axes, makes, (), 0)  # type: ignore[arg-type]
    return search.Search(SAMPLED, contract, cases, budget, 0.03, 0.999, 0, calls, processes, 10.0, None)


@pytest.mark.parametrize(("predicted", "rounds"), [(10.0, 1), (1e6, 2)])
def test_it_is_made_sure_of_a_law_only_where_there_is_time(
    predicted: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law is off by 1e-5, and a round of six seconds predicts so many outcomes, of which some two million do."""
    run = steps(60.0)
    target, seconds, asked = run.cases[0].events[0].law, count(0.0, 6.0), list[Any]()
    off = target + 1e-5 * (np.eye(len(target))[int(target.argmin())] - np.eye(len(target))[int(target.argmax())])
    run.laws[0] = Exact(0, off, 1.0, True, 0.0, None)

    def asked_of(tasks: Iterable[Any]) -> Iterator[Exact]:
        asked.extend(tasks)
        now = next(seconds)
        monkeypatch.setattr(search.time, "monotonic", lambda: run.start + now + 6.0)
        yield replace(run.laws[0], predicted=predicted)

    found = run._made_sure(SimpleNamespace(run=asked_of))  # type: ignore[arg-type]
    assert len(asked) == rounds
    assert bool(found) == (rounds > 1)


@pytest.mark.parametrize(("processes", "budget"), [(0, 0.0), (2, 60.0)])
def test_with_a_number_of_calls_no_time_and_no_process_matters_for_a_law(processes: int, budget: float) -> None:
    """A law is off by 1e-5, so that ten enumerations are needed; the first was made before."""
    run = steps(budget, 20, processes)
    target, asked = run.cases[0].events[0].law, list[Any]()
    off = target + 1.01e-5 * (np.eye(len(target))[int(target.argmin())] - np.eye(len(target))[int(target.argmax())])
    run.laws[0] = Exact(0, off, MOST, True, 0.0, None)

    def asked_of(tasks: Iterable[Any]) -> Iterator[Exact]:
        for task in tasks:
            asked.append((task.number, task.seconds))
            yield replace(run.laws[0], predicted=MOST)

    assert run._made_sure(SimpleNamespace(run=asked_of))  # type: ignore[arg-type]
    assert asked == [(number, math.inf) for number in range(1, 10)]


def test_an_edge_stays_where_a_later_case_cannot_be_enumerated() -> None:
    run = steps(60.0)
    edge = Fault(Enumerate(0), "edge", "emits [1], which the target excludes", 0)
    found = run._enumerated(SimpleNamespace(run=lambda _: iter([edge, Impossible("integers")])))  # type: ignore[arg-type]
    assert found is edge
    assert run.exact == "not possible: integers"


def test_a_small_case_that_cannot_be_enumerated_is_sampled_where_a_law_was_looked_for() -> None:
    """A correct verifier fails in none of them; at a level of 1e-6 each."""
    contract, function = CONTRACTS["verify_batch"], CORRECT["verify_batch"]["sorted"]
    simplest = [case for case in contract.simplest() if not case.branches][:2]
    assert simplest
    assert smallest_lossy_case(iter(simplest), _searched(function, 10.0, 0, True), Diagnosis((), False)) is None
