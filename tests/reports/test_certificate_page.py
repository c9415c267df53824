"""The page of a certificate: drawn from its file alone, for every verdict, with nothing left unescaped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from experiments.certification.pair import PAIR, PAIR_CALLS, with_pair
from experiments.certification.request import Request, certificate_document, find_subject, save_certificate
from reports.pages.certificate import build
from simlab.certify import Certificate, certify
from simlab.certify.certificate import Acceptance, Failure, Map, RangeEvidence
from simlab.mutants.gated.contracts import implementation, reference
from simlab.mutants.gated.gates import ALWAYS
from tests.support.pages import fetched

pytestmark = pytest.mark.cli

Array = Any
HERE = "tests.reports.test_certificate_page:right"


def right(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> Any:
    rng.integers(2)  # keeps its laws from being enumerated, and saves the time
    return reference("verify")(p, q, drafts, rng)


def wrong(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> Any:
    rng.integers(2)
    return implementation("residual drawn from p", ALWAYS, "verify")(p, q, drafts, rng)


def failing(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> Any:
    raise RuntimeError("<script>alert(1)</script> & {{ more }}")


def page(folder: Path, certificate: Certificate) -> str:
    """The page of a certificate, as the command saves it."""
    request = Request(HERE, calls=64, processes=1, budget=1.0, limit=1.0)
    save_certificate(certificate_document(request, find_subject(request), certificate, folder), folder, None)
    return build(folder).read_text(encoding="utf-8")


def certified(function: Callable[..., Any], calls: int) -> Certificate:
    found = certify(function, calls=calls, processes=1, subject=HERE, at_most="V=64,gamma=8")
    return replace(found, subject="<b>mine</b>:verify", notes=("a <i>note</i>",))


@pytest.fixture(scope="module")
def certificates() -> dict[str, Certificate]:
    few = certified(right, 64)
    return {
        "lossless": replace(few, verdict="lossless", more=""),
        "inconclusive": few,
        "lossy": certified(wrong, 1024),
        "breaks": certified(failing, 64),
    }


@pytest.mark.parametrize(
    ("verdict", "said", "figures"),
    [
        ("lossless", [], 1),
        ("inconclusive", ["--budget"], 1),
        ("lossy", ["residual drawn from p", 'id="reproduce"', "reproduce.py"], 2),
        ("breaks", ["&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{ more }}"], 0),
    ],
)
def test_every_verdict_has_its_page(
    verdict: str, said: list[str], figures: int, certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    assert certificates[verdict].verdict == verdict
    text = page(tmp_path, certificates[verdict])
    assert f'<div class="verdict {verdict}"><p><b>{verdict}</b>: ' in text
    assert all(one in text for one in (*said, f"simlab certify {HERE}"))
    assert text.count("<svg") == figures
    assert fetched(text) == []
    assert not re.search("<script|<b>mine|<i>note", text)
    assert "&lt;b&gt;mine&lt;/b&gt;:verify" in text
    assert "a &lt;i&gt;note&lt;/i&gt;" in text


def test_what_a_pair_of_rows_alone_shows_has_its_page(certificates: dict[str, Certificate], tmp_path: Path) -> None:
    request = Request(HERE, calls=64, processes=1, budget=1.0, limit=1.0)
    document = certificate_document(request, find_subject(request), certificates["inconclusive"], tmp_path)
    paired = with_pair(document, wrong, 0)
    save_certificate(paired, tmp_path, None)
    text = build(tmp_path).read_text(encoding="utf-8")
    assert (paired["verdict"], paired["calls_to_finding"]) == ("lossy", document["calls"] + PAIR_CALLS)
    assert PAIR in text
    assert with_pair(document, right, 0)["verdict"] == "inconclusive"


def test_every_line_is_in_the_table_and_every_outcome_in_its_own(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    lossy = certificates["lossy"]
    text = page(tmp_path, lossy)
    assert lossy.failure
    assert f"<summary>{len(lossy.lines)} " in text
    table = text[: text.index('id="reproduce"')]
    rows = re.findall(r'<td class="row">([\d, ]+)</td>', table)
    assert rows[-len(lossy.failure.outcomes) :] == [row["outcome"] for row in lossy.failure.outcomes]


def test_a_case_is_called_the_smallest_only_where_a_smaller_one_was_found(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    lossy = certificates["lossy"]
    assert lossy.failure
    as_found = replace(
        lossy.failure, found_in=lossy.failure.case, told="TV from the target is 0.1 in a case that fails"
    )
    for failure, smallest in ((lossy.failure, True), (as_found, False)):
        text = page(tmp_path, replace(lossy, failure=failure, seconds_to_finding=123.4))
        assert "<b>123 s</b>" in text
        assert ("The smallest case that fails</h2>" in text, "smallest case found" in text) == (smallest, smallest)
        assert ("A case that fails</h2>" in text) != smallest


EXACT, ACCEPTED = 0.0123, Acceptance(kept=0.53, within=0.026, most=0.52, matching=0.4, cases=14, enumerated=2)


def test_numbers_of_a_certificate_are_on_its_page_and_infinite_ones_are_null_in_json(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    """The worst principal case stands out."""
    found = certificates["inconclusive"]
    first, second, *rest = (replace(line, principal=False) for line in found.lines)
    worst = replace(first, principal=True, tv_at_most=0.0625, tv_exact=EXACT)
    lines = (worst, replace(second, detectable=float("inf")), *rest)
    told = replace(found, lines=lines, more="calls=9000 may do", startup=7.5, acceptance=ACCEPTED)
    text = page(tmp_path, told)
    for piece in (
        str(EXACT),
        told.more,
        "7.5 s",
        "<b>0.0625</b>",
        "<b>53 %</b>",
        ACCEPTED.told,
        '<td class="n">–</td>',
    ):
        assert piece in text, piece
    document = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert document["lines"][1]["detectable"] is None


EDGE = "it emits [1], but only where a coin is 0 (one in 2^24)"
SEEN = RangeEvidence({"V": (9, 64), "gamma": (1, 3)}, "", "", "", 4, 512, 0.25, 0.125, True)
FEW = RangeEvidence({"V": (9, 64), "gamma": (4, 8)}, "", "", "", 1, 64, 0.5, 0.5, False)
NEVER = RangeEvidence({"V": (65, 1024), "gamma": (1, 3)}, "", "", "", 0, 0, 1.0, 1.0, False, "a call <b> is too long")


def test_a_page_has_own_shapes_first_then_the_map_and_what_is_at_the_ends_of_coins(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    own = replace(SEEN, name="llama-3", source="the <i>source</i>", detectable=0.125, outcomes=1234)
    script = "from tests.reports.test_certificate_page import right\n"
    edge = Failure("edge", EDGE, "", "", True, {"uniforms": [0.0]}, 1, script=script)
    shapes = Map(("V", "gamma"), (own,), (SEEN, FEW, NEVER), "", 1)
    text = page(tmp_path, replace(certificates["lossless"], shapes=shapes, edge=edge))
    places = [text.index(f'id="{name}"') for name in ("yours", "where", "edge", "how")]
    assert places == sorted(places)
    cells = re.findall(r'<td class="(tv\d|few|none)" title="[^"]*">([^<]*)</td>', text)
    assert {("tv3", "0.25"), ("few", "(0.50)"), ("none", "")} <= set(cells)
    assert all(
        piece in text for piece in ("1,234", str(escape(own.source)), str(escape(NEVER.why)), EDGE.partition(",")[0])
    )
    assert (tmp_path / "reproduce.py").exists()


def test_own_shapes_that_were_not_seen_are_named_and_a_failure_has_a_command(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    own = replace(NEVER, of={"V": (9, 9), "gamma": (1, 3)}, name="V=9", why="V = 9, gamma = 2: raises <b>")
    shapes, failure = Map(("V", "gamma"), (own,), (), "", 1), certificates["lossy"].failure
    assert failure
    failure = replace(failure, script=None, case="V = 9, gamma = 2, mostly ended by token 1")
    text = page(tmp_path, replace(certificates["lossy"], shapes=shapes, failure=failure))
    assert (
        f"<code>simlab certify {HERE} --shape V=9,gamma=2 --budget 30 --seed 0 --processes 1 --limit 1</code>" in text
    )
    assert "<code>V=9</code>" in text
    assert "raises &lt;b&gt;" in text
    assert 'id="where"' not in text
    assert not (tmp_path / "reproduce.py").exists()
