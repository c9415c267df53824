"""Questions of readers find the entries that answer them, and pages answer as the command does."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cli.claims import LEAST
from tests.support.searching import answers
from theory import words
from theory.claims import CLAIMS
from theory.claims.registry import by_words

pytestmark = pytest.mark.exact

QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text(encoding="utf-8"))
SCRIPT = Path(__file__).parents[3] / "reports" / "templates" / "search.js"
ANSWERED = {"dev": (14, 18), "held-out": (17, 20)}  # of 20 questions: by the first entry, by one of three


@pytest.mark.parametrize("question", QUESTIONS["asked"])
def test_the_first_result_answers_the_question(question: str) -> None:
    assert answers(question)[0] in QUESTIONS["asked"][question], answers(question)[:5]


@pytest.mark.parametrize("part", ANSWERED)
def test_most_questions_that_nobody_tuned_for_are_answered(part: str) -> None:
    for most, answered in zip((1, 3), ANSWERED[part], strict=True):
        found = [any(id in answers(each)[:most] for id in right) for each, right in QUESTIONS[part].items()]
        assert sum(found) >= answered


def test_answers_are_entries() -> None:
    assert {id for part in QUESTIONS.values() for right in part.values() for id in right} <= set(CLAIMS)


@pytest.mark.parametrize("id", CLAIMS)
def test_an_id_finds_its_entry(id: str) -> None:
    assert id in answers(id)[:3]


def test_what_is_nowhere_finds_nothing() -> None:
    assert not answers("zzzzzz")
    assert not answers("")
    assert not answers("what is the")


def test_the_command_cuts_answers_where_the_report_does() -> None:
    assert f"const LEAST = {LEAST};" in SCRIPT.with_name("filter.js").read_text(encoding="utf-8")


@pytest.mark.property
@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_that_of_its_definition(one: str, other: str) -> None:
    def slow(i: int, j: int) -> int:
        if not (i and j):
            return i + j
        ways = [slow(i - 1, j) + 1, slow(i, j - 1) + 1, slow(i - 1, j - 1) + (one[i - 1] != other[j - 1])]
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            ways.append(slow(i - 2, j - 2) + 1)
        return min(ways)

    assert words.distance(one, other) == slow(len(one), len(other))


@pytest.mark.parity
@pytest.mark.browser
@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_pages_answer_as_the_command_does(tmp_path: Path) -> None:
    rng = random.Random(0)
    typed = [question for part in QUESTIONS.values() for question in part] + [
        "",
        "zzzzzz",
        "Ünïcode β",
        *list(CLAIMS)[::5],
    ]
    for question in typed[:60]:  # with letters left out, put in and swapped, and as far as they are typed
        at = rng.randrange(len(question) - 1)
        typed += [question[:at] + question[at + 1 :], question[:at] + rng.choice("aeiot") + question[at:]]
        typed += [question[:at] + question[at + 1] + question[at] + question[at + 2 :], question[: at + 1]]
    given = json.dumps([by_words(), typed])
    program = f"const [i, typed] = {given}; console.log(JSON.stringify(typed.map(q => answers(i, q))))"
    path = tmp_path / "parity.js"
    path.write_text(f"{SCRIPT.read_text(encoding='utf-8')}\n{program}", encoding="utf-8")
    done = subprocess.run(["node", path], capture_output=True, text=True, check=True, timeout=60)
    theirs = [[tuple(each) for each in found] for found in json.loads(done.stdout)]
    assert theirs == [words.found(by_words(), question) for question in typed]
