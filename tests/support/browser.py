"""Pages in a browser without a window, at the width that is asked for; where there is no Chromium tests skip.

What is looked for: boxes that are wider than their place, and what axe calls serious.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
SECONDS = 300
WIDTHS = 390, 768, 1280, 1920

FIGURES, NUMBERS = ".wide", "table:not(.list, .tally, .headlines)"  # may be wider than a small screen, in what scrolls
WORDS = "td, article p, article li"  # which scroll where a formula has no line breaks
WIDER = f"""(document, window) => {{
  const root = document.documentElement, wider = [];
  if (root.scrollWidth > root.clientWidth) wider.push(`the page: ${{root.scrollWidth}}`);
  for (const box of document.querySelectorAll("main *")) {{
    const inside = box.getBoundingClientRect(), outside = box.parentElement.getBoundingClientRect();
    const drawn = box.closest("svg, math") && box.localName !== "svg";
    if (drawn || !inside.width || window.getComputedStyle(box).display === "inline") continue;
    const scrolls = box.parentElement.closest(".scroll, pre, {WORDS}");
    const allowed = scrolls && (box.closest("{FIGURES}, {NUMBERS}, math") || scrolls.matches("{WORDS}"));
    const wide = inside.right > outside.right + 1.5;
    if (wide && !allowed) wider.push(`${{box.localName}}: ${{box.textContent.slice(0, 40)}}`);
  }}
  for (const box of document.querySelectorAll(".scroll")) {{
    const words = !box.querySelector("{FIGURES}, {NUMBERS}");
    if (words && box.scrollWidth > box.clientWidth + 1) wider.push(`words: ${{box.textContent.trim().slice(0, 40)}}`);
  }}
  return wider;
}}"""
SPILLS = """(document, window) => {
  const root = document.documentElement, spills = [];
  if (root.scrollWidth > root.clientWidth) spills.push(`the page: ${root.scrollWidth}`);
  const scrolls = box => box && (window.getComputedStyle(box).overflowX !== "visible" || scrolls(box.parentElement));
  for (const box of document.querySelectorAll("article *:not(svg *, math *)")) {
    const inside = box.getBoundingClientRect(), outside = box.parentElement.getBoundingClientRect();
    const laid = inside.width && window.getComputedStyle(box).display !== "inline";
    if (!laid || inside.right <= outside.right + 1.5 || scrolls(box.parentElement)) continue;
    spills.push(`${box.localName}: ${box.textContent.slice(0, 40)}`);
  }
  return spills;
}"""
SERIOUS = """async (document, window) => {
  window.eval(AXE);
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const each of document.querySelectorAll("tr:nth-child(n+30), svg > *")) each.remove();  // more of the same
  const found = await window.axe.run(document, { resultTypes: ["violations"] });
  return found.violations.filter(each => ["serious", "critical"].includes(each.impact))
    .map(each => `${each.id}: ${each.nodes.length}, such as ${each.nodes[0].html.slice(0, 200)}`);
}"""

FRAMES = """<!doctype html><meta charset="utf-8"><script>
const pages = PAGES, widths = WIDTHS, look = LOOK, seen = [];
addEventListener("load", async () => {
  for (const page of pages) for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
    const loaded = new Promise(done => frame.onload = done);
    frame.src = page;
    document.body.append(frame);
    await loaded;
    await new Promise(done => setTimeout(done, 100));
    seen.push([page, width, await look(frame.contentDocument, frame.contentWindow)]);
    frame.remove();
  }
  fetch(ANSWER, { method: "POST", mode: "no-cors", body: JSON.stringify(seen) });
});
</script><body>"""


def serious() -> str:
    """What looks for findings of axe that are serious; skips where axe is not installed."""
    package = find_spec("axe_core_python")
    if package is None or package.origin is None:
        pytest.skip("no axe: pip install axe-core-python")
    axe = Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    return SERIOUS.replace("AXE", json.dumps(axe).replace("</", "<\\/"))


class Answer(BaseHTTPRequestHandler):
    """Appends what a page posts to ``heard``."""

    def __init__(self, heard: list[bytes], *connection: Any) -> None:
        self.heard = heard
        super().__init__(*connection)

    def do_POST(self) -> None:
        self.heard.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def looked_at(
    folder: Path, pages: Sequence[str], widths: Sequence[int], look: str, dark: bool = False
) -> list[tuple[str, int, Any]]:
    """What the JavaScript function ``look(document, window)`` returns of each page, at each width.

    ``pages`` are addresses; the page that frames them is put into ``folder``, and posts what it has seen. Its reader
    may like the dark.
    """
    heard: list[bytes] = []
    with HTTPServer(("127.0.0.1", 0), partial(Answer, heard)) as server:
        server.timeout = SECONDS
        told = {"PAGES": pages, "WIDTHS": widths, "ANSWER": f"http://127.0.0.1:{server.server_port}"}
        text = FRAMES.replace("LOOK", look)
        for name, what in told.items():
            text = text.replace(name, json.dumps(what))
        frames = folder / "frames.html"
        frames.write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options += ["--allow-file-access-from-files", "--disable-background-timer-throttling"]
        options += [
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--user-data-dir={folder / 'browser'}",
        ]
        with (folder / "browser.log").open("w") as log:
            browser = subprocess.Popen([CHROMIUM, *options, frames.as_uri()], stdout=log, stderr=log)
            try:
                server.handle_request()
            finally:
                browser.terminate()
                browser.wait()
    assert heard, (folder / "browser.log").read_text(encoding="utf-8")
    return [(page, width, found) for page, width, found in json.loads(heard[0])]
