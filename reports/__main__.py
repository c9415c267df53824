"""``python -m reports DIR``: draw the pages of the results in DIR, without computing anything anew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from reports import judge_page, page

PAGES: dict[str, Callable[[Path], Path]] = {"verdicts.json": page.build, "judge.json": judge_page.build}


def main() -> int:
    """Draw what there is in the folder named on the command line."""
    if len(sys.argv) != 2:
        print("usage: python -m reports DIR   (a folder that simlab verify or simlab judge wrote)", file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    found = [build for name, build in PAGES.items() if (out / name).exists()]
    try:
        for build in found:
            build(out)
    except FileNotFoundError as error:
        print(f"reports: {error.filename} is missing; expected the results of one command", file=sys.stderr)
        return 2
    if not found:
        print(
            f"reports: {out / 'verdicts.json'} is missing, and so is judge.json; "
            "expected the results of simlab verify or simlab judge",
            file=sys.stderr,
        )
    return 0 if found else 2


if __name__ == "__main__":
    sys.exit(main())
