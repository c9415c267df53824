"""Pages in a browser without a window, at the width that is asked for; where there is no Chromium tests skip."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
SECONDS = 120

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
  document.body.textContent = "SEEN" + JSON.stringify(seen) + "END";
});
</script><body>"""


def looked_at(folder: Path, pages: Sequence[str], widths: Sequence[int], look: str) -> list[tuple[str, int, Any]]:
    """What the JavaScript function ``look(document, window)`` returns of each page, at each width.

    ``pages`` are addresses; the page that frames them is put into ``folder``.
    """
    text = FRAMES.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(widths)).replace("LOOK", look)
    frames = folder / "frames.html"
    frames.write_text(text, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    command = [CHROMIUM, *options, f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=60000"]
    done = subprocess.run([*command, frames.as_uri()], capture_output=True, text=True, timeout=SECONDS, check=True)
    seen = re.search("<body>SEEN(.*)END", done.stdout, re.S)
    assert seen, done.stderr
    return [(page, width, found) for page, width, found in json.loads(html.unescape(seen[1]))]
