"""Make the proofs again whose code is another by now: ``python -m theory.proofs``.

Each is kept in ``kept.json`` as soon as it is there, and leaves ``<out>/<name>/*.smt2``: everything that the solver was
asked, for ``<out>/check.py``, which asks cvc5 and z3 and needs nothing of this project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from theory.failures import CheckFailed
from theory.proofs.catalogue import PROOFS
from theory.proofs.kept import KEPT, Entry, is_fresh, kept_entries
from theory.proofs.making import make_again


def main() -> int:
    """Make proofs; 1 if one does not go through."""
    parser = argparse.ArgumentParser(prog="python -m theory.proofs", description="Make proofs again.")
    parser.add_argument("--only", metavar="NAME", action="append", choices=list(PROOFS), help="this proof")
    parser.add_argument("--all", action="store_true", help="all, not only those of other code")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("out/proofs"), help="where files go")
    parser.add_argument("--check", action="store_true", help="let cvc5 answer every question as well")
    parser.add_argument(
        "--refuted", action="store_true", help="look for simpler rows than refuted claims print, instead"
    )
    given = parser.parse_args()
    if given.refuted:
        return refuted()
    entries, failed = dict(kept_entries()), 0
    for gone in entries.keys() - PROOFS.keys():
        del entries[gone]
    names = given.only or [name for name in PROOFS if given.all or not is_fresh(entries.get(name))]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(make_again, name, given.out, given.check): name for name in names}
        for k, done in enumerate(as_completed(waiting)):
            name = waiting[done]
            try:
                entry = done.result()
            except CheckFailed as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                failed += 1
                continue
            entries[name] = entry
            _keep(entries)
            told = f"{entry['seconds']:6.1f} s  {entry['cells']:>7,} cells  {name}"
            print(f"{k + 1:>3}/{len(names)}  {told}", flush=True)
    return 1 if failed else 0


def refuted() -> int:
    """Look for the simplest rows at which refuted claims are false; 1 if simpler ones are found than are printed."""
    from theory.proofs.refutations import REFUTATIONS, printed, simplest, size_of

    simpler = 0
    for asked in REFUTATIONS:
        size = size_of(printed(asked))
        rows = simplest(asked, size[0])
        is_simpler = rows is not None and size_of(rows) < size
        told = ", ".join(f"{name} = ({', '.join(map(str, row))})" for name, row in (rows or {}).items())
        print(f"{asked.claim}: {'simpler than is printed' if is_simpler else 'none simpler'}: {told}", flush=True)
        simpler += is_simpler
    return 1 if simpler else 0


def _keep(entries: dict[str, Entry]) -> None:
    """Write what is kept, all of it or nothing."""
    ordered = {name: entries[name] for name in PROOFS if name in entries}
    beside = KEPT.with_suffix(".new")
    beside.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(beside, KEPT)


if __name__ == "__main__":
    sys.exit(main())
