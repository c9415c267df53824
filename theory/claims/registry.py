"""All claims by id, collected from the packages of the papers.

A package holds the claims of one paper, or of several that belong together; ``MODULES`` in its ``__init__.py`` lists
them in reading order. Every module that has ``CLAIMS`` counts: one that is not listed comes after those that
are, and so does a package that ``ORDER`` does not name. To add a claim, write it in a module of its paper's package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from simlab.registry import meant
from theory.claims.base import Claim
from theory.claims.headlines import Headline, Result
from theory.claims.moved import MOVED
from theory.words import Index, index

ORDER = ("leviathan", "gsd", "lantern", "sjd", "sjd_pac", "baselines", "lossy", "cspd", "published")


def modules() -> Iterator[ModuleType]:
    """The modules of the papers' packages, in order."""
    here = [str(Path(__file__).parent)]
    packages = _sorted((found.name for found in iter_modules(here) if found.ispkg), ORDER)
    for package in (import_module(f"theory.claims.{name}") for name in packages):
        for name in _sorted((found.name for found in iter_modules(package.__path__)), getattr(package, "MODULES", ())):
            yield import_module(f"{package.__name__}.{name}")


def _sorted(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """``names`` as in ``order``, and those it does not name after them by the alphabet."""
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def collected() -> dict[str, Claim]:
    """Every claim by its id; raises ``ValueError`` where two claims have one id."""
    found: dict[str, Claim] = {}
    for module in modules():
        claims: dict[str, Claim] = getattr(module, "CLAIMS", {})
        if twice := found.keys() & claims.keys():
            raise ValueError(f"{module.__name__} has claims that exist already: {', '.join(sorted(twice))}")
        found |= claims
    return found


CLAIMS: dict[str, Claim] = collected()
HEADLINES: tuple[Headline, ...] = tuple(each for module in modules() for each in getattr(module, "HEADLINES", ()))
TAKE_HOME: tuple[Result, ...] = tuple(each for module in modules() for each in getattr(module, "TAKE_HOME", ()))
PAPERS: tuple[str, ...] = tuple(dict.fromkeys(claim.paper for claim in CLAIMS.values()))


@cache
def by_words() -> Index:
    """What finds claims by words."""
    return index(
        [each.described() for each in CLAIMS.values()], *([*map(asdict, all)] for all in (HEADLINES, TAKE_HOME))
    )


def find(id: str) -> Claim:
    """The claim called ``id``, or that says what it said; raises ``ValueError`` with the nearest id if none does."""
    if id in CLAIMS or id in MOVED:
        return CLAIMS[MOVED.get(id, id)]
    raise ValueError(f"unknown claim {id!r}; {meant(id, CLAIMS)}expected one of those `simlab claims` lists")
