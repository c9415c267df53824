"""Draw the pages of saved results, without recomputing.

``python -m reports DIR [verify|judge|certify|selftest]`` draws what one command, or any, has left in DIR.
``python -m reports DIR site [RUNS ...]`` draws the whole site, with the sweeps in the folders RUNS.
``python -m reports DIR paper`` writes an article on the verdicts, and a poster, and sets both where there is a LaTeX.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from pathlib import Path

from reports.data.files import Unreadable
from reports.signals import ends_whole, leave_held_interrupts

PAGES = {  # command: the file it writes, and the module that draws it
    "verify": ("verdicts.json", "report"),
    "judge": ("judge.json", "judge"),
    "certify": ("certificate.json", "certificate"),
    "selftest": ("selftest.json", "self_test"),
}
DRAWING = ("matplotlib", "seaborn")  # of simlab[report]
UNDRAWN = 3  # the status where these are missing
USAGE = (
    "usage: python -m reports DIR [verify|judge|certify|selftest]  (DIR is what one of these wrote)\n"
    "       python -m reports DIR site [RUNS ...]                  (RUNS is what simlab run wrote)\n"
    "       python -m reports DIR paper                            (DIR is what simlab verify wrote)"
)


def main() -> int:
    """Draw what the command line asks for; returns the exit status."""
    ends_whole()
    leave_held_interrupts()
    try:
        return _draw()
    except KeyboardInterrupt:
        print("reports: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except ModuleNotFoundError as error:
        if error.name not in DRAWING:
            raise
        print(f"simlab: pages with figures need {error.name}: pip install 'simlab[report]'", file=sys.stderr)
        return UNDRAWN


def _draw() -> int:
    if len(sys.argv) > 2 and sys.argv[2] == "site":
        return _site(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[3:]])
    if sys.argv[2:] == ["paper"]:
        return _paper(Path(sys.argv[1]))
    wanted = sys.argv[2:] or list(PAGES)
    if len(sys.argv) not in (2, 3) or not set(wanted) <= PAGES.keys():
        print(USAGE, file=sys.stderr)
        return 2
    return _pages(Path(sys.argv[1]), wanted)


def _pages(out: Path, wanted: list[str]) -> int:
    """Draw what there is in the folder, or what one command left there."""
    found = {name: page for name, page in map(PAGES.__getitem__, wanted) if (out / name).exists()}
    missing = 0
    for name, page in found.items():  # one page that cannot be drawn does not stop another
        try:
            import_module(f"reports.pages.{page}").build(out)
        except FileNotFoundError as error:
            missing += 1
            what = error.filename or error
            print(f"reports: {what} is missing; expected all results that belong to {name}", file=sys.stderr)
        except Unreadable as error:
            missing += 1
            print(f"reports: {error}", file=sys.stderr)
    if not found:
        first, *others = (PAGES[command][0] for command in wanted)
        so = f", and so are {', '.join(others[:-1])} and {others[-1]}" if others else ""
        print(
            f"reports: {out / first} is missing{so}; "
            "expected the results of simlab verify, simlab prove --judge or simlab certify",
            file=sys.stderr,
        )
    return 2 if missing or not found else 0


def _site(out: Path, runs: list[Path]) -> int:
    """Draw the whole site and say what is on it: 0, 1 where a result could not be read, 2 where there is none."""
    from reports.site.build import build

    try:
        built = build(out, runs)
    except OSError as error:
        print(f"simlab: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2 if isinstance(error, FileNotFoundError) else 1
    for study in built.missing:
        print(f"{study.state:<15}{study.name:<15}{study.command}")
    for note in built.notes:
        print(f"note: {note}")
    print(f"{len(built.pages)} pages  {built.index}", flush=True)
    for problem in built.problems:
        print(f"simlab: {problem}", file=sys.stderr)
    return 1 if built.problems else 0


def _paper(out: Path) -> int:
    """Write article and poster, and set them; 1 where LaTeX cannot, 2 where there are no results."""
    from reports.pages.article import SOURCES, build, typeset

    try:
        folder = build(out)
        print(*(folder / name for name in SOURCES), sep="\n", flush=True)
        made = [typeset(folder / name) for name in SOURCES]
        print(*filter(None, made), sep="\n") if all(made) else print("there is no pdflatex here, which would make PDFs")
    except FileNotFoundError as error:
        print(f"reports: {error.filename or error} is missing; expected the results of simlab verify", file=sys.stderr)
        return 2
    except (Unreadable, ValueError) as error:
        print(f"reports: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
