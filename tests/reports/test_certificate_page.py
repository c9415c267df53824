"""The page of a certificate: drawn from its file alone, for every verdict, with nothing left unescaped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.certification.request import Request, certificate_document, find_subject, save_certificate
from reports.pages.certificate import build
from simlab.certify import Certificate, certify
from simlab.certify.certificate import Failure, Map, RangeEvidence
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
    request = Request(HERE, None, 1.0, 0.03, 0.999, 0, 64, 1, 1.0)
    save_certificate(certificate_document(request, find_subject(request), certificate, folder), folder, None)
    return build(folder).read_text(encoding="utf-8")


def certified(function: Callable[..., Any], calls: int, epsilon: float = 0.03) -> Certificate:
    found = certify(function, calls=calls, epsilon=epsilon, processes=1, subject=HERE)
    return replace(found, subject="<b>mine</b>:verify", notes=("a <i>note</i>",))


@pytest.fixture(scope="module")
def certificates() -> dict[str, Certificate]:
    return {
        "lossless": certified(right, 512, 0.9),
        "inconclusive": certified(right, 64),
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


def test_every_line_is_in_the_table_and_every_outcome_in_its_own(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    lossy = certificates["lossy"]
    text = page(tmp_path, lossy)
    assert lossy.failure
    assert f"<summary>{len(lossy.lines)} lines</summary>" in text
    table = text[text.index("against the target</th>") : text.index('id="reproduce"')]
    assert re.findall(r'<td class="row">([\d, ]+)</td>', table) == [row["outcome"] for row in lossy.failure.outcomes]


@pytest.mark.slow
def test_it_is_drawn_from_the_file_alone(certificates: dict[str, Certificate], tmp_path: Path) -> None:
    text = page(tmp_path, certificates["lossy"])
    (tmp_path / "certificate.html").unlink()
    command = [sys.executable, "-P", "-m", "reports", str(tmp_path), "certify"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "certificate.html").read_text(encoding="utf-8") == text


def test_infinite_numbers_are_null_in_json_and_a_dash_on_the_page(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    some = certificates["inconclusive"]
    lines = (replace(some.lines[0], detectable=float("inf")), *some.lines[1:])
    text = page(tmp_path, replace(some, lines=lines))
    document = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert document["lines"][0]["detectable"] is None
    assert '<td class="n">–</td>' in text


def test_a_page_tells_principal_cases_exact_laws_and_what_would_be_enough(tmp_path: Path) -> None:
    found = certify(right, calls=256, epsilon=0.001, processes=1, subject=HERE)
    first, *rest = found.lines
    lines = (replace(first, principal=True, tv_at_most=0.0625), *(replace(line, principal=False) for line in rest))
    told = replace(found, lines=(replace(lines[0], tv_exact=0.0123), *lines[1:]), more="calls=9000 may do", startup=7.5)
    text = page(tmp_path, told)
    assert text.count("(principal)") == 1
    assert "0.0123" in text
    assert "calls=9000 may do" in text
    assert "7.5 s" in text
    assert "<b>0.0625</b>" in text


def test_a_page_has_own_shapes_first_then_the_map_and_what_is_at_the_ends_of_coins(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    of = {"V": (9, 64), "gamma": (1, 3)}
    seen = RangeEvidence(of, "", "", "", 4, 512, 0.25, 0.125, True)
    few = RangeEvidence({"V": (9, 64), "gamma": (4, 8)}, "", "", "", 1, 64, 0.5, 0.5, False)
    never = RangeEvidence(
        {"V": (65, 1024), "gamma": (1, 3)}, "", "", "", 0, 0, 1.0, 1.0, False, "a call <b> would take too long"
    )
    own = replace(seen, name="llama-3", source="the <i>source</i>", detectable=0.125, outcomes=1234)
    told = "it emits [1], but only where a coin is 0 (one in 2^24)"
    script = "from tests.reports.test_certificate_page import right\n"
    edge = Failure("edge", True, "", told, "", {"uniforms": [0.0]}, 1, None, None, [], "", (), script)
    shapes = Map(("V", "gamma"), (own,), (seen, few, never), "", 1)
    text = page(tmp_path, replace(certificates["lossless"], shapes=shapes, edge=edge))
    places = [text.index(f'id="{name}"') for name in ("yours", "where", "edge", "how")]
    assert places == sorted(places)
    assert '<td class="n">1,234</td>' in text
    assert "the &lt;i&gt;source&lt;/i&gt;" in text
    title = "V = 9–64, gamma = 1–3: 4 shapes, 512 outcomes, TV at most 0.125"
    assert f'<td class="tv3" title="{title}">0.25</td>' in text
    assert '<td class="few" title="V = 9–64, gamma = 4–8: 1 shapes, 64 outcomes">(0.50)</td>' in text
    assert 'outcomes; a call &lt;b&gt; would take too long">.</td>' in text
    assert '<td class="none" title="no shape, or none that fits memory"></td>' in text
    assert "<li>V = 65–1,024, gamma = 1–3: a call &lt;b&gt; would take too long</li>" in text
    assert "Coin 1 of 1 is exactly 0: it emits [1]" in text
    assert (tmp_path / "reproduce.py").exists()
    assert "battery 2" in text


def test_a_page_says_which_own_shapes_were_not_seen_and_how_to_see_a_failure_again(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    own = RangeEvidence(
        {"V": (9, 9), "gamma": (1, 3)}, "V=9", "", "", 0, 0, 1.0, 1.0, False, "V = 9, gamma = 2: raises <b>"
    )
    shapes = Map(("V", "gamma"), (own,), (), "", 1)
    text = page(tmp_path, replace(certificates["inconclusive"], shapes=shapes))
    assert "<code>V=9</code>, which was asked for: raises &lt;b&gt;." in text
    assert 'id="where"' not in text
    failure = certificates["lossy"].failure
    assert failure
    failure = replace(failure, script=None, case="V = 9, gamma = 2, mostly ended by token 1")
    text = page(tmp_path, replace(certificates["lossy"], shapes=shapes, failure=failure))
    assert f"<code>simlab certify {HERE} --shape V=9,gamma=2 --budget 30 --seed 0</code>" in text
    assert not (tmp_path / "reproduce.py").exists()


def test_a_page_of_an_earlier_certificate_is_drawn_without_shapes(
    certificates: dict[str, Certificate], tmp_path: Path
) -> None:
    page(tmp_path, certificates["lossless"])
    path = tmp_path / "certificate.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for name in ("battery", "shapes", "edge", "again"):
        del document[name]
    path.write_text(json.dumps(document), encoding="utf-8")
    text = build(tmp_path).read_text(encoding="utf-8")
    assert 'id="where"' not in text
    assert "battery" not in text.partition("<h1>")[0].partition("<main")[2]
