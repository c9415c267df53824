"""Claims, findings and evidence: the records that every claim is made of.

A claim is one statement, its source, and the function that decides it. The function's docstring carries the
proof, where there is one; it returns a :class:`Finding`: a verdict and the evidence for it, computed on the spot. A
``holds`` rests on the proof. That the implementation is what the proof speaks of is proven by solvers
(:mod:`theory.claims.proven`), or else enumerated by a check that is itself seen failing on deliberately wrong variants
(:mod:`simlab.mutants`), as those of the solvers' proofs are refuted.

A claim with parts is decided by them (:func:`combined`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Literal, get_args

from theory.claims.sources import Source

Verdict = Literal["holds", "holds-under-assumptions", "refuted", "not-refuted", "not-decided"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
Kind = Literal[
    "proof",
    "enumeration",
    "identity",
    "search",
    "counterexample",
    "example",
    "control",
    "exact-small-scale",
    "simulation",
    "parts",
    "check-failed",
]


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence: what was computed, what came out, and the numbers of a (counter)example."""

    kind: Kind
    summary: str
    numbers: dict[str, Any] | None = None


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim and what it rests on. Only a refutation has counterexamples; others have examples."""

    verdict: Verdict
    evidence: Sequence[Evidence]

    def __post_init__(self) -> None:
        if self.verdict != "refuted":
            renamed = [replace(e, kind="example") if e.kind == "counterexample" else e for e in self.evidence]
            object.__setattr__(self, "evidence", renamed)


@dataclass(frozen=True)
class Claim:
    """One statement, what it rests on, and how it is decided.

    Attributes
    ----------
    id, paper
        What it is called, and the paper that it belongs to.
    source
        The sentence or the code that it is about, and how it stands to it.
    statement
        One proposition that stands alone. Mathematics is LaTeX between dollar signs.
    decide
        Takes a seed, returns a finding; None where the verdict follows from parts (:func:`combined`).
    assumptions
        Each of the form "name: what is assumed"; the proof uses every name.
    parts
        The ids of the statements it splits into.
    proof
        The argument, in words and LaTeX.
    simulates
        What is simulated to decide it: claims of one name share simulated runs. Empty where it is decided exactly.
    """

    id: str
    paper: str
    source: Source
    statement: str
    decide: Callable[[int], Finding] | None
    assumptions: Sequence[str] = ()
    parts: Sequence[str] = ()
    proof: str = field(default="")
    simulates: str = ""

    def described(self) -> dict[str, Any]:
        """What is said of it before it is decided, as ``verdicts.json`` has it."""
        return {
            "id": self.id,
            "paper": self.paper,
            "source": self.source.origin,
            "where": self.source.where,
            "quote": self.source.quote,
            "statement": self.statement,
            "relation": self.source.relation,
            "kind": self.source.kind,
            "note": self.source.note,
        }

    def _repr_markdown_(self) -> str:
        """Statement, assumptions and proof, as notebooks display them."""
        quote = f"> {self.source.quote}" if self.source.origin == "paper" else ""
        assumptions = "\n".join(f"- {each}" for each in self.assumptions)
        head = f"**`{self.id}`** ({self.source.where}). {self.statement}"
        parts = [head, quote, assumptions and f"Assumptions:\n\n{assumptions}", self.proof and f"*Proof.* {self.proof}"]
        return "\n\n".join(filter(None, parts))


class Claims(dict[str, Claim]):
    """The claims of one module, all of one paper, by id. Filled by the decorator :meth:`claim`."""

    def __init__(self, paper: str) -> None:
        super().__init__()
        self.paper = paper

    def claim(
        self,
        id: str,
        source: Source,
        statement: str,
        assumptions: Sequence[str] = (),
        simulates: str = "",
    ) -> Callable[[Callable[[int], Finding]], Callable[[int], Finding]]:
        """Register the function that decides claim ``id``; it takes a seed and returns a finding.

        What it finds to hold does so under the assumptions, if there are any.
        """

        def register(decide: Callable[[int], Finding]) -> Callable[[int], Finding]:
            @wraps(decide)
            def decided(seed: int) -> Finding:
                found = decide(seed)
                under = assumptions and found.verdict == "holds"
                return replace(found, verdict="holds-under-assumptions") if under else found

            proof = _unwrapped(inspect.cleandoc(decide.__doc__ or ""))
            self[id] = Claim(id, self.paper, source, statement, decided, assumptions, (), proof, simulates)
            return decided

        return register

    def summary(self, id: str, source: Source, statement: str, parts: Sequence[str]) -> None:
        """Register a claim whose verdict follows from its parts, which may be registered later."""
        self[id] = Claim(id, self.paper, source, statement, None, (), tuple(parts))


def _unwrapped(text: str) -> str:
    """Paragraphs on one line each, so that they can be set to any width; indented ones stay as they are."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(p if "\n " in p or p.startswith(" ") else " ".join(p.splitlines()) for p in paragraphs)


STRENGTH: tuple[Verdict, ...] = ("refuted", "not-decided", "not-refuted", "holds-under-assumptions", "holds")


def combined(parts: Mapping[str, tuple[Claim, Finding]]) -> Finding:
    """The finding of a claim with parts: the weakest verdict among the parts in the words of their source.

    The order from weakest to strongest is ``STRENGTH``. Parts that are stronger or weaker than what is quoted, and
    results of ours, do not count, unless there are no others. A refuted claim has the counterexamples of its first
    refuted part.
    """
    stated = {id: part for id, part in parts.items() if part[0].source.own} or parts
    verdict = min((finding.verdict for _, finding in stated.values()), key=STRENGTH.index)
    summary = "; ".join(
        f"{id}: {finding.verdict}" + ("" if claim.source.own else f" ({claim.source.relation})")
        for id, (claim, finding) in parts.items()
    )
    evidence = [Evidence("parts", summary)]
    if verdict == "refuted":
        refuted = next(finding for _, finding in stated.values() if finding.verdict == "refuted")
        evidence += [piece for piece in refuted.evidence if piece.kind == "counterexample"]
    return Finding(verdict, evidence)
