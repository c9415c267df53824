"""The part of ``simlab certify --self-test`` for ``--url``: toy servers over HTTP, with known bugs and correct ones."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.certification.servers import ServerRequest, certified_server
from simlab.certify.servers.toy import CORRECT, WRONG, Server, Toy

LONGEST = 180.0  # seconds for a bug; it ends when it is found
CORRECTLY = 20.0  # seconds for a correct server


def toys() -> list[tuple[str, Toy, bool]]:
    """Each with its name, and whether it is wrong."""
    return [(name, toy, True) for name, toy in WRONG.items()] + [(name, toy, False) for name, toy in CORRECT.items()]


def server_row(name: str, toy: Toy, seed: int, wrong: bool, quick: bool) -> dict[str, Any]:
    """The verdict on one toy against the correct one without speculation, and after how many requests and seconds.

    ``quick`` takes a tenth of the seconds: what is weaker than most is not found in them.
    """
    budget = (LONGEST if wrong else CORRECTLY) * (0.1 if quick else 1)
    with TemporaryDirectory() as folder, Server(toy) as engine, Server(Toy()) as reference:
        request = ServerRequest(engine.url, budget, 0.1, 0.999, seed, 10.0, reference.url, tokens=2)
        found = certified_server(request, Path(folder), lambda share: None)
    return {"name": name, "wrong": wrong} | {key: found[key] for key in ("verdict", "calls", "seconds", "summary")}
