"""Certificates of verifiers that are published as code: ``python -m experiments.certification.published NAME FOLDER``.

FOLDER is a checkout of the repository at the commit that is certified, NAME one of those that ``--list`` lists. The
certificate is written to ``--out``, with repository, commit and the versions of what ran it. Those that are kept with
the project are in ``reports/measured/certificates``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.certification.request import finite
from experiments.results import versions, write_json
from simlab import __version__
from simlab.certify import certify
from simlab.certify.adapters.checkouts import PUBLISHED, Published, commit_of


def certificate_of(published: Published, checkout: Path, budget: float, seed: int) -> dict[str, Any]:
    """What is written: the certificate, and what was certified.

    Parameters
    ----------
    published
        The verifier.
    checkout
        The folder of its repository.
    budget
        Seconds.
    seed
        Of the random calls.

    Raises
    ------
    ValueError
        If the folder is no checkout, or has not what is certified.
    """
    commit = commit_of(checkout)
    found = certify(published.callable(checkout), published.contract, budget=budget, seed=seed, processes=1)
    document: dict[str, Any] = finite(found.document)
    if document["failure"]:
        document["failure"]["script"] = ""  # it would need the checkout
    about = {"name": published.name, "about": published.about, "repository": published.repository, "commit": commit}
    ran = {"file": published.file, "budget": budget, "seed": seed, "simlab": __version__, "versions": versions()}
    return about | ran | document


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 where a certificate was written, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m experiments.certification.published", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(PUBLISHED), metavar="NAME", help="what is certified")
    parser.add_argument("checkout", nargs="?", type=Path, metavar="FOLDER", help="a checkout of its repository")
    parser.add_argument("--out", type=Path, default=Path("out/published-code"), help="the folder to write to")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S", help="seconds (default: 60)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random calls (default: 0)")
    parser.add_argument("--list", action="store_true", help="list what can be certified")
    asked = parser.parse_args(arguments)
    if asked.list:
        for each in PUBLISHED.values():
            print(f"{each.name:24}{each.contract:20}{each.repository}: {each.about}")
        return 0
    if asked.checkout is None:
        parser.error("expected NAME and FOLDER, or --list")
    try:
        document = certificate_of(PUBLISHED[asked.name], asked.checkout, asked.budget, asked.seed)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    path = asked.out / f"{asked.name}.json"
    write_json(path, document)
    print(f"{document['verdict']}: {document['summary']}\n{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
