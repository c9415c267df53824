"""``python -m reports DIR``: make the report from the results in DIR, without computing anything anew."""

from __future__ import annotations

import sys
from pathlib import Path

from reports.page import build


def main() -> int:
    """Build the report of the folder named on the command line."""
    if len(sys.argv) != 2:
        print("usage: python -m reports DIR   (a folder that simlab verify wrote)", file=sys.stderr)
        return 2
    try:
        build(Path(sys.argv[1]))
    except FileNotFoundError as error:
        print(f"reports: {error.filename} is missing; expected the results of simlab verify", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
