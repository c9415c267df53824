"""The guide to ``simlab certify`` is true: its code runs, prints what it says, and its tables are those of the code."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.cli.main import main
from simlab.certify import CONTRACTS, assert_lossless, certify
from simlab.certify.certificate import VERDICTS
from simlab.mutants import batch_operators, batches, candidates, logit_operators, operators, tree_operators
from simlab.mutants import drafters as drafting
from simlab.mutants import generation as decoding
from simlab.mutants import generator_verifiers as generators
from simlab.mutants import verifiers as verifying

pytestmark = pytest.mark.cli

GUIDE = (Path(__file__).parents[3] / "simlab" / "certify" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", GUIDE, re.S))
ROWS = re.findall(r"^\| (\d+) [^|]*\| ([^|]*) \| ([^|]*) \|$", GUIDE, re.M)
UNNAMED = {"27"}  # found by sampling, and not among the laws a diagnosis knows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of the guide, as the current one."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_guide_shows_these_files() -> None:
    assert list(FILES) == ["verifier.py", "fixed.py", "test_verifier.py", "wrapped.py"]
    assert GUIDE.count("```python") == len(FILES)


def test_the_bug_is_found_with_the_output_that_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"```text\n(.*?)```", GUIDE, re.S)
    assert shown
    assert main(["certify", "verifier.py:verify"]) == 1
    assert lines(capsys.readouterr().out) == lines(shown[1])
    assert (folder / "out" / "certify" / "reproduce.py").exists()


def test_the_fix_passes_as_a_test(folder: Path) -> None:
    names: dict[str, object] = {"__name__": "test_verifier"}
    exec(FILES["test_verifier.py"], names)
    names["test_verify_is_lossless"]()  # type: ignore[operator]


@pytest.mark.slow
def test_the_bug_fails_as_a_test_and_the_message_says_it_all(folder: Path) -> None:
    from verifier import verify  # type: ignore[import-not-found]

    with pytest.raises(AssertionError) as failed:
        assert_lossless(verify, calls=64, processes=1)
    message = str(failed.value)
    assert message.startswith("verifier:verify is lossy: TV from the target is 0.125")
    for text in ("looks like: residual drawn from p", "  q = [[0.75, 0.25]]", "exact 0.46875", "to see it, run:"):
        assert text in message
    script = message.partition("to see it, run:\n")[2]
    exec("\n".join(line[4:] for line in script.splitlines()).replace("n, V = 3000", "n, V = 10"), {})


def test_the_wrapped_verifier_is_not_passed_by_calls_that_exclude_nothing(folder: Path) -> None:
    """And none of them is a fault: a thousand calls would do."""
    pytest.importorskip("torch")
    from wrapped import verify  # type: ignore[import-not-found]

    with pytest.raises(AssertionError, match=r"nothing was found, but no TV below 0\.\d+ is excluded; calls=\d000 may"):
        assert_lossless(verify, calls=32, processes=1)


def test_a_verifier_of_tensors_is_told_what_it_is_given(folder: Path) -> None:
    torch = pytest.importorskip("torch")

    def verify(p: object, q: object, drafts: object, generator: object) -> object:
        return torch.multinomial(p[0], 1, generator=generator)  # type: ignore[index]

    found = certify(verify, calls=1, processes=1)
    assert found.verdict == "breaks"
    assert any("--arrays torch" in note for note in found.notes)


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_contract_is_told(name: str) -> None:
    assert f"| `{CONTRACTS[name].signature}` |" in GUIDE


def test_every_verdict_is_told_with_its_exit_status() -> None:
    from experiments.cli.certify import STATUS

    assert set(STATUS) == set(VERDICTS)
    assert all(f"| `{verdict}` | {status} |" in GUIDE for verdict, status in STATUS.items())


def test_every_bug_has_a_row_and_its_contracts_know_it() -> None:
    known = {
        "draft": {bug.mutant for bug in drafting.MUTANTS.values()},
        "verify": {bug.mutant for bug in (*verifying.MUTANTS.values(), *generators.BUGS.values())},
        "verify_batch": {bug.mutant for bug in batches.MUTANTS.values()},
        "verify_candidates": {bug.mutant for bug in candidates.MUTANTS.values()},
        "decode": {bug.mutant for bug in decoding.MUTANTS.values()},
        **{
            contract: {bug.mutant for bug in known.values()}
            for contract, known in (
                operators.BUGS | batch_operators.BUGS | tree_operators.BUGS | logit_operators.BUGS
            ).items()
        },
    }
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 44))
    for number, contracts, seen in ROWS:
        named = re.findall(r"`(\w+)`", contracts)
        assert named
        assert seen
        if number not in UNNAMED:
            assert {name for name in named if number not in known[name]} == set(), number
