"""The page of searches has the claims that answer a question, found as ``simlab claims WORDS`` finds them."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from experiments.terminal import plain_math
from reports.site.html import environment
from theory.claims import CLAIMS, HEADLINES
from theory.claims.registry import by_words


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_index(app: Sphinx, page: str, *_: Any) -> None:
    """Scripts of the page of searches alone."""
    if page == "search":
        app.add_js_file(None, body=data(), priority=400)
        app.add_js_file("search.js")
        app.add_js_file("claims.js")


def data() -> str:
    """The index, and what each claim says in a line."""
    said = {id: plain_math(claim.statement) for id, claim in CLAIMS.items()}
    said |= {each.claim: f"{each.says} ({each.verdict})" for each in HEADLINES}
    filled = environment().from_string("const INDEX = {{ index | tojson }}, SAID = {{ said | tojson }};")
    return filled.render(index=by_words(), said=said)
