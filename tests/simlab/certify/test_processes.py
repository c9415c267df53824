"""Verifiers behind a command: reference clients pass; bugs, and every way to answer wrongly, are found and named."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.arrays import total_variation
from simlab.certify import certify
from simlab.certify.contracts.base import Broken, Function
from simlab.certify.engine.exact import ROUNDING, AtTheEdge, Exact
from simlab.certify.engine.tasks import Counts, Edges, Enumerate, Impossible, Sample
from simlab.certify.engine.workers import WorkerPool
from simlab.certify.processes import command, protocol
from simlab.certify.processes.command import _shaped as shaped
from simlab.certify.registry import CONTRACTS
from simlab.mutants.gated.contracts import reference
from tests.support.certify import evidence, wrong

CLIENTS = Path(__file__).parents[3] / "simlab" / "certify" / "clients"
CARGO = Path.home() / ".cargo" / "bin"
PYTHON = shlex.quote(sys.executable)
BROKEN = """\
import os, struct, sys, time
hear, say = sys.stdin.buffer, sys.stdout.buffer
def words(*numbers): say.write(struct.pack(f"<{len(numbers)}q", *numbers)); say.flush()
def asked():
    frame = hear.read(8 * struct.unpack("<q", hear.read(8))[0])
    return struct.unpack_from("<q", frame)[0]
def greet(): hear.readline(); say.write(b"simlab-certify 1 verify\\n"); say.flush()
"""
WRONG = {
    "ends at once": ("", "ends before it has answered (exit status 0)"),
    "ends with a complaint": ("sys.exit('no model')", "(exit status 1); it says 'no model'"),
    "prints before it greets": ("print('Loading'); greet(); asked()", "answers the greeting with 'Loading'"),
    "is of another version": (
        "hear.readline(); print('simlab-certify 2 verify', flush=True); asked()",
        "answers the greeting with 'simlab-certify 2 verify'; expected 'simlab-certify 1 verify'",
    ),
    "greets without an end": ("print('x' * 10000, end='', flush=True); asked()", "answers the greeting with 'xxx"),
    "prints in between": ("greet(); asked(); print('step 1 of 10', flush=True); asked()", "the bytes read"),
    "announces too much": ("greet(); asked(); words(1 << 62); asked()", "with a frame of 4611686018427387904 words"),
    "announces less than nothing": ("greet(); asked(); words(-1); asked()", "with a frame of -1 words"),
    "answers less than was asked": (
        "greet(); n = asked(); words(2 * n, *[1, 0] * (n - 1), 0, 0); asked()",
        "words too many",
    ),
    "answers with a count that is not there": (
        "greet(); n = asked(); words(2 * n, *[9, 0] * n); asked()",
        "count of 9",
    ),
    "answers a token that is none": ("greet(); n = asked(); words(2 * n, *[1, 77] * n); asked()", "returns token 77"),
    "answers without tokens": ("greet(); n = asked(); words(n, *[0] * n); asked()", "returns 0 tokens"),
    "ends in a frame": (
        "greet(); n = asked(); words(2 * n); sys.exit(3)",
        "(exit status 3), in the middle of a frame",
    ),
    "crashes": ("greet(); asked(); os.abort()", "killed by SIGABRT"),
    "closes its output": ("greet(); asked(); os.close(1); time.sleep(60)", "closes its standard output"),
    "talks before it is asked": ("greet(); asked(); words(16, *[1, 0] * 8, 7); asked(); asked()", "before it is asked"),
}


def program(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(BROKEN + text)
    return f"{PYTHON} -S {folder / 'program.py'}"


@pytest.mark.parametrize("what", WRONG)
def test_whatever_a_process_does_wrong_is_named(what: str, tmp_path: Path) -> None:
    text, named = WRONG[what]
    with pytest.raises(Broken) as broken:
        Sample(0, 0, 16).run(CONTRACTS["verify"].cases()[0], command(program(tmp_path, text)), 0)
    assert named in str(broken.value)


def test_a_second_answer_is_not_taken_for_that_of_the_next_call(tmp_path: Path) -> None:
    """Though it comes when the first was read: in the pipe it is as long as the next one has to be."""
    written = tmp_path / "written"
    answer = "words(2 * n, *[1, 0] * n)"
    twice = f"n = asked(); {answer}; time.sleep(0.1); {answer}; open({str(written)!r}, 'w')"
    function = command(program(tmp_path, f"greet()\nwhile True: {twice}"))
    call = np.full((2, 2), 0.5), np.full((1, 2), 0.5), np.array([0])
    assert function(*call).tolist() == [0]
    while not written.exists():
        time.sleep(0.01)
    with pytest.raises(Broken, match="before it is asked"):
        function(*call)


def test_what_is_written_to_standard_error_is_read_as_fast_as_it_comes(tmp_path: Path) -> None:
    """Twenty million bytes in a call: each read by itself, they take a minute."""
    text = "greet(); n = asked(); os.write(2, bytes(20_000_000)); words(2 * n, *[1, 0] * n); asked()"
    function, start = command(program(tmp_path, text)), time.monotonic()
    assert function(np.full((2, 2), 0.5), np.full((1, 2), 0.5), np.array([0])).tolist() == [0]
    assert time.monotonic() - start < 20


@pytest.mark.slow
def test_a_process_that_does_not_answer_is_a_finding(tmp_path: Path) -> None:
    function = command(program(tmp_path, "greet(); asked(); time.sleep(60)"))
    found = certify(function, calls=1, processes=1, limit=0.1)
    assert found.verdict == "breaks"
    assert "does not return within" in found.summary
    assert "processes=0" not in found.summary  # advice for what is forked, which this is not


def test_a_call_that_is_not_answered_is_the_one_that_is_shown(tmp_path: Path) -> None:
    """Answers the first 24 calls, which come in frames of several, then dies."""
    text = "greet(); n = 0\nwhile True:\n m = asked()\n n += m\n if n > 24: os.abort()\n words(2 * m, *[1, 0] * m)"
    case = CONTRACTS["verify"].cases()[0]
    function = command(program(tmp_path, text))
    with pytest.raises(Broken, match="SIGABRT"):
        Sample(0, 0, 64).run(case, function, 0)


def test_each_process_has_a_seed_of_its_own(tmp_path: Path) -> None:
    text = f"""
seed = hear.readline().split()[-1].decode(); open({str(tmp_path)!r} + "/seed " + seed, "w")
say.write(b"simlab-certify 1 verify\\n"); say.flush()
while True: n = asked(); words(2 * n, *[1, 0] * n)
"""
    with WorkerPool(command(program(tmp_path, text), seed=5), CONTRACTS["verify"].cases(), 5, 2, 60.0) as pool:
        assert all(isinstance(found, Counts) for found in pool.run(Sample(0, number, 8) for number in range(2)))
    seeds = {file.name for file in tmp_path.glob("seed *")}
    assert len(seeds) == 2
    assert "seed 5" in seeds


@pytest.mark.parametrize("line", ["./no-such-verifier", "no-such-verifier --fast", "", "python 'open", str(CLIENTS)])
def test_a_command_that_does_not_exist_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="--command"):
        command(line)


@pytest.mark.parametrize(
    ("contract", "told"),
    [("decode", "a model that is called cannot be sent"), ("tree_siblings", "three arrays cannot be answered")],
)
def test_what_cannot_be_sent_or_answered_is_refused(contract: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        command(PYTHON, contract)


@pytest.mark.exact
@pytest.mark.parametrize("contract", ["batch_uniforms", "flat_exponential", "flat_tokens"])
def test_the_answer_of_a_batch_is_read_row_by_row(contract: str) -> None:
    """Of every case, by what the right code emits."""
    right = reference(contract)
    for case in CONTRACTS[contract].cases():
        inputs, given = case.inputs(1, np.random.default_rng(0)), list[Any]()

        def noted(*arguments: Any, given: list[Any] = given) -> Any:
            given[:] = arguments
            return right(*arguments)

        emitted = case.ask(noted, inputs, 0, np.random.default_rng(1))
        flat = np.ravel(np.asarray(right(*given)))

        def answered(*arguments: Any, flat: Any = flat) -> Any:
            return shaped(flat, contract, [np.asarray(one) for one in arguments])

        assert case.ask(answered, inputs, 0, np.random.default_rng(1)) == emitted


@pytest.mark.exact
def test_frames_hold_what_they_say() -> None:
    """Header, then each call's arrays as they are; an answer is read back as it was written."""
    calls = [(np.array([[0.25, 0.75]]), np.array([i]), np.float32(0.5)) for i in range(3)]
    words = np.frombuffer(protocol.request(calls), "<i8")
    assert words[0] == len(words) - 1
    assert words[1:9].tolist() == [3, 3, 2, 1, 2, 1, 1, 0]
    body = words[9:].reshape(3, 4)
    assert body[:, 2].tolist() == [0, 1, 2]
    assert body[:, [0, 1, 3]].copy().view("<f8").tolist() == [[0.25, 0.75, 0.5]] * 3
    answer = protocol.answers(np.array([2, 5, 6, 0, 1, 7]), 3)
    assert [tokens.tolist() for tokens in answer] == [[5, 6], [], [7]]
    many = np.arange(256 * 97)  # of the largest batch, with the longest drafts
    assert np.array_equal(*protocol.answers(np.array([len(many), *many]), 1), many)


@pytest.fixture(scope="module", params=["python", "c++", "rust"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A reference client, compiled where it has to be."""
    if request.param == "python":
        return f"{PYTHON} {CLIENTS / 'verifier.py'}"
    search = os.pathsep.join([os.environ.get("PATH", ""), str(CARGO)])
    name, options, source = {
        "c++": ("g++", ["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror"], "verifier.cpp"),
        "rust": ("rustc", ["-O", "--edition", "2021", "-D", "warnings"], "verifier.rs"),
    }[request.param]
    compiler = shutil.which(name, path=search)
    if compiler is None:
        pytest.skip(f"there is no {name}")
    built = tmp_path_factory.mktemp("client") / "verifier"
    subprocess.run([compiler, *options, str(CLIENTS / source), "-o", str(built)], check=True)
    return str(built)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("contract", ["verify", "chain_uniforms"])
def test_the_reference_clients_follow_the_target(client: str, contract: str) -> None:
    """64 calls of each case, 1e-6 false alarms in all; given its coins the first is enumerated, and at its ends."""
    function, cases = command(client, contract), CONTRACTS[contract].cases()
    assert evidence(cases, function, 64).finding is None
    exact = Enumerate(0).run(cases[0], function, 0)
    if contract == "verify":
        assert exact == Impossible("randomness of its own")
        return
    assert isinstance(exact, Exact)
    assert total_variation(exact.law, cases[0].events[0].law) < ROUNDING
    assert Edges(0).run(cases[0], function, 0) is None


@pytest.mark.slow
@pytest.mark.statistical
def test_a_known_bug_is_found_in_a_process(tmp_path: Path) -> None:
    """Its TV is 1/8 in the first case: 1,000 calls find it with power above .999."""
    text = (CLIENTS / "verifier.py").read_text()
    right = "np.maximum(p[i] - q[i], 0)"
    assert right in text
    (tmp_path / "verifier.py").write_text(text.replace(right, "p[i]"))
    function = command(f"{PYTHON} {tmp_path / 'verifier.py'}")
    case = CONTRACTS["verify"].cases()[0]
    found = evidence([case], function, 4000)
    assert found.finding is not None
    assert "residual drawn from p" in found.diagnosis().names


class Framed:
    """An operator that is asked as a process is: several calls at once. ``frames`` are their numbers of calls."""

    def __init__(self, function: Function) -> None:
        self.function, self.frames = function, list[int]()

    def __call__(self, *arguments: Any) -> Any:
        return next(self.ask_many([arguments]))

    def ask_many(self, calls: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        self.frames.append(len(calls))
        yield from [self.function(*arguments) for arguments in calls]


def test_laws_asked_in_frames_are_those_asked_one_by_one() -> None:
    """The same law and the same answers at the ends of coins; there are at least twenty calls a frame."""
    case, framed = CONTRACTS["chain_uniforms"].cases()[5], Framed(wrong("chain_uniforms", "residual drawn from p"))
    alone, together = (Enumerate(0).run(case, one, 0) for one in (framed.function, framed))
    assert isinstance(alone, Exact)
    assert isinstance(together, Exact)
    np.testing.assert_array_equal(together.law, alone.law)
    assert together.predicted == alone.predicted
    assert sum(framed.frames) > 20 * len(framed.frames)


def test_the_call_that_goes_wrong_in_a_frame_is_shown_with_its_coins() -> None:
    """It raises for coins of 0 alone, among the many that are asked with them."""
    right = reference("chain_uniforms")

    def raises(p: Any, q: Any, drafts: Any, uniforms: Any, uniform: Any) -> Any:
        if (uniforms == 0).all():
            raise ZeroDivisionError("a coin of 0")
        return right(p, q, drafts, uniforms, uniform)

    case = CONTRACTS["chain_uniforms"].cases()[0]
    with pytest.raises(AtTheEdge, match="ZeroDivisionError") as edge:
        Edges(0).run(case, Framed(raises), 0)
    assert edge.value.uniforms[0] == 0
    found = Enumerate(0).run(case, Framed(raises), 0)  # which goes on with a coin a little off
    assert isinstance(found, Exact)
    assert found.edge
    assert "ZeroDivisionError" in found.edge.message
    assert found.edge.uniforms[0] == 0
    assert not found.deviates


def test_what_only_goes_wrong_in_a_frame_of_several_is_reported() -> None:
    right = reference("chain_uniforms")

    class Alone(Framed):
        def ask_many(self, calls: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
            if len(calls) > 1:
                raise Broken("answers 1 of several calls")
            return super().ask_many(calls)

    with pytest.raises(AtTheEdge, match="answers 1 of several calls") as edge:
        Enumerate(0).run(CONTRACTS["chain_uniforms"].cases()[0], Alone(right), 0)
    assert edge.value.kind == "broken"
    assert edge.value.uniforms == ()


def test_no_frame_is_asked_once_the_time_is_up() -> None:
    framed = Framed(reference("chain_uniforms"))
    for work in (Enumerate(0, 0.0), Edges(0, 0.0)):
        assert work.run(CONTRACTS["chain_uniforms"].cases()[0], framed, 0) == Impossible("too slow")
    assert not framed.frames
