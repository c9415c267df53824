"""``python -m reports DIR [verify|judge]``: draw the pages of the results in DIR, without computing anything anew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from reports import judge_page, page

PAGES: dict[str, tuple[str, Callable[[Path], Path]]] = {  # command: the file it writes, and who draws it
    "verify": ("verdicts.json", page.build),
    "judge": ("judge.json", judge_page.build),
}


def main() -> int:
    """Draw what there is in the folder named on the command line, or what one command left there."""
    wanted = sys.argv[2:] or list(PAGES)
    if len(sys.argv) not in (2, 3) or not set(wanted) <= PAGES.keys():
        print(
            "usage: python -m reports DIR [verify|judge]   (DIR is what simlab verify or judge wrote)", file=sys.stderr
        )
        return 2
    out = Path(sys.argv[1])
    found = {name: build for name, build in map(PAGES.__getitem__, wanted) if (out / name).exists()}
    missing = 0
    for name, build in found.items():  # one page that cannot be drawn does not stop another
        try:
            build(out)
        except FileNotFoundError as error:
            missing += 1
            what = error.filename or error
            print(f"reports: {what} is missing; expected all results that belong to {name}", file=sys.stderr)
    if not found:
        print(
            f"reports: {out / 'verdicts.json'} is missing, and so is judge.json; "
            "expected the results of simlab verify or simlab judge",
            file=sys.stderr,
        )
    return 2 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
