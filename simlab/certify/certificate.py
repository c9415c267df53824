"""The certificate of a callable: verdict, cases and, where it fails, the smallest case that does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.events import Events, Every

VERDICTS = {
    "lossless": "no deviation found",
    "lossy": "what comes out does not follow the target",
    "breaks": "it fails, or returns something invalid, on valid input",
    "inconclusive": "no deviation found, but the budget was too small for the wanted precision",
}
# Of the cases and shapes that are tried: 1 had fixed cases alone, 2 no drawn row with few tokens of mass or with a
# nearly certain one, no coin that was looked at where it came again more than three tokens later, no greedy sequence,
# 3 no drawn row that is certain of a token among others that are not, and no vocabulary for being that of a model, and
# 4 no row of two tokens, none certain of one at an end, and few vocabularies next to powers of two above 65,536, and
# 5 seldom looked at the last position of eight or 32, and added up no counts by position or by how large a call is, and
# 6 drew sizes by chance alone, and did not count by themselves the rows in which q lacks a class, and
# 7 gave nearly all of the time of slow code to its largest shapes, and logits had no row certain of a token or of two,
# 8 no row that was there before, none with a likely token that is not nearly certain, few of three to five tokens, no
# draft from a few tokens of many, greedy sequences in the first place alone, and one shape for two in turn
BATTERY = 9
# Contracts with another number: servers are tried on texts; the rest had one more before, in which rows of a sequence
# depend on all tokens before, trees have a nearly certain candidate, and top-k and top-p leave more than four tokens;
# and trees two more since, with rows certain of what is no candidate, and nodes of the first token or the last, and
# with branches as long as the position that is looked at; and candidates one more, with first ones that are refused;
# and sequences, candidates, logits and drafters one more, where two or four tokens of few or of many may come; and
# sequences and drafters one more, whose tokens were not counted at all places together; and blocks with uniforms one
# more, where a row of q was above p by a rounding error in double precision alone
OWN = (
    {"completions": 2, "chain_uniforms": 10}
    | dict.fromkeys(("chain_logits", "chain_logits_joint", "draft", "verify_candidates"), 11)
    | dict.fromkeys(("decode", "tree_parents", "tree_siblings"), 12)
)
OF_ALL = "TV: of all calls together"  # said where calls are counted by their number
LISTED = 64  # outcomes of a failing case that are listed
AS_MUCH = 1e-6  # by which an enumerated acceptance may differ from the optimum


@dataclass(frozen=True)
class Line:
    """One kind of events of one case: how often it was called, and what that is worth.

    Attributes
    ----------
    case, events
        Names of the case and of the kind of events counted; what is counted by the number of its call has bounds of all
        calls together, and says so.
    calls
        Calls that were counted.
    tv_at_most
        Upper limit on TV from the target; holds for all lines at once with the confidence of the certificate.
    detectable
        The smallest TV that would have raised an alarm with power 0.999.
    log10_e
        The evidence against the target's law, as a power of ten; at most 9999.
    fails
        Whether the evidence raised an alarm.
    tv_exact
        TV of the law that was enumerated, or None; then ``tv_at_most`` rests on that law as well.
    principal
        Whether a pass needs ``tv_at_most`` to be what was asked for; of the others it is only told.
    """

    case: str
    events: str
    calls: int
    tv_at_most: float
    detectable: float
    log10_e: float
    fails: bool
    tv_exact: float | None = None
    principal: bool = True


@dataclass(frozen=True)
class RangeEvidence:
    """What was seen in a range of shapes, which were drawn."""

    of: dict[str, tuple[int, int]]  # the least and the most of each axis
    # name, dtype, source: of one that was asked for: its text or the name of a preset, the precision of rows, and where
    # a preset has its numbers from. Empty in cells of the map
    name: str
    dtype: str
    source: str
    # shapes, outcomes: how many shapes were tried, and outcomes counted, in classes that no code can know; those of one
    # call count as one in what follows
    shapes: int
    outcomes: int
    # the smallest TV, in the mean over these shapes, that would have raised an alarm with power 0.999
    detectable: float
    tv_at_most: float  # upper limit on that TV; holds for all ranges at once with the confidence of the certificate
    seen: bool  # whether it is in the region that the verdict is about
    # shapes of it that the code declines, in its words; or why it was not seen, if it was not for want of time
    why: str = ""
    skipped: int = 0  # how many more were drawn and not called, so that it does not count as seen

    @property
    def text(self) -> str:
        """The range in words."""
        sizes = ", ".join(
            f"{name} = {low}" if low == high else f"{name} {low} to {high}" for name, (low, high) in self.of.items()
        )
        return sizes + (f", {self.dtype}" if self.dtype else "")


@dataclass(frozen=True)
class Map:
    """Where a certificate has looked, beyond its fixed cases."""

    axes: tuple[str, ...]  # the sizes that shapes have
    own: tuple[RangeEvidence, ...]  # what was asked for
    cells: tuple[RangeEvidence, ...]  # bands of V with those of another axis
    told: str  # the region that the verdict is about, in a sentence
    most: int  # numbers of the rows p of a call that are tried at most
    # the largest sizes up to which every cell was seen; None where not even the smallest was
    region: dict[str, int] | None = None


@dataclass(frozen=True)
class Acceptance:
    """Means over cases of how often first drafts are kept."""

    kept: float  # what the verifier does; known up to ``within``, which is 0 where all cases were enumerated
    within: float
    most: float  # the most that any lossless verifier can
    # what it would be if the target's own token were drawn and compared with the draft: also lossless, sum p q
    matching: float
    # cases, enumerated: how many cases these are means over, and in how many of them kept is exact
    cases: int
    enumerated: int

    @property
    def told(self) -> str:
        """In a sentence; a share only of what is known to be another than all that is possible."""
        size = f" +- {self.within:.2g}" if self.within else ""
        all_of_it = abs(self.kept - self.most) <= self.within + AS_MUCH
        share = "as much as is possible" if all_of_it else f"{self.kept / self.most:.0%} of what is possible"
        within = ": within that " if all_of_it and self.within else ", "
        return (
            f"first drafts are kept with {self.kept:.3g}{size}{within}{share} "
            f"without loss ({self.most:.3g}); drawing from p and matching keeps {self.matching:.3g}"
        )


@dataclass(frozen=True)
class Failure:
    """The smallest case found that fails.

    It is the one in which it was found first, unless a smaller one was found to fail as well.

    Attributes
    ----------
    kind
        ``law``, ``edge``, ``broken``, ``raises``, ``hangs`` or ``dies``.
    told
        What is wrong, in one sentence.
    case
        Its name.
    found_in
        Where it was found first, before it was reduced.
    at_the_ends
        Whether it only shows where a coin is 0 or the largest float below 1.
    arguments
        Those of the case.
    calls
        Calls of the case that were counted; 0 where what fails was counted in many shapes together.
    tv_measured, tv_exact
        TV from the target, by counts and by enumeration; None where there is none.
    outcomes
        What comes out: ``outcome``, ``target``, ``measured``, and ``exact`` where the code can be enumerated. Of the
        first kind of events of the case: empty where what fails is another one.
    diagnosis
        The likely cause in plain language.
    known
        Known bugs that explain it.
    script
        Code that shows it, or None.
    dtype
        The precision that the case was asked for in; empty where it is that of the contract, or of ``arrays``.
    """

    kind: str  # law, edge, broken, raises, hangs, dies
    told: str
    case: str
    found_in: str
    at_the_ends: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)
    calls: int = 0
    tv_measured: float | None = None
    tv_exact: float | None = None
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    diagnosis: str = ""
    known: tuple[str, ...] = ()
    script: str | None = None
    dtype: str = ""


@dataclass(frozen=True)
class Certificate:
    """The verdict on a callable and its grounds.

    Attributes
    ----------
    subject, contract
        What was called, and how.
    verdict
        ``lossless``, ``lossy``, ``breaks`` or ``inconclusive``.
    summary
        The verdict in a sentence or two.
    epsilon, confidence
        What was asked for.
    false_alarms
        Bound on the probability that a lossless callable is called lossy.
    seed
        Of what was drawn in the cases.
    seconds, calls
        What it took; calls are those of the fixed cases that were counted. What was counted of drawn shapes is in
        ``shapes``.
    seconds_to_finding, calls_to_finding
        Until the first finding, calls of the fixed cases again; None without one.
    lines
        One for each case and kind of events.
    failure
        The smallest case found that fails, or None.
    notes
        Peculiarities that are no fault of the law.
    exact, forced
        Whether the law was also enumerated, and coins tried at their ends; if not, why not.
    startup
        Seconds until the first calls had ended, which are no part of ``seconds``.
    more
        Where it is inconclusive: what would be enough.
    unsure
        Whether an enumerated law is not the target's, or counts are odd, and it was not made sure of.
    acceptance
        How often first drafts are kept, against what is possible; None with a failure, and where no drafts are given.
    edge
        What shows only where a coin is exactly 0 or the largest float below 1; None where nothing does.
    shapes
        Where it looked beside the fixed cases; None where the contract has no shapes that are drawn.
    """

    subject: str
    contract: str
    verdict: str
    summary: str
    epsilon: float
    confidence: float
    false_alarms: float
    seed: int
    seconds: float
    calls: int
    seconds_to_finding: float | None
    calls_to_finding: int | None
    lines: tuple[Line, ...]
    failure: Failure | None
    notes: tuple[str, ...]
    exact: str
    forced: str
    startup: float = 0.0
    more: str = ""
    unsure: bool = False
    acceptance: Acceptance | None = None
    edge: Failure | None = None
    shapes: Map | None = None

    @property
    def document(self) -> dict[str, Any]:
        """Everything, for JSON."""
        first: dict[str, Any] = {"verdict": self.verdict, "meaning": VERDICTS[self.verdict]}
        found = first | {"battery": battery_of(self.contract)} | asdict(self)
        if self.acceptance:
            found["acceptance"]["told"] = self.acceptance.told
        return found


def counted(events: Events) -> str:
    """What is counted, and what a bound is of where that is something else."""
    return events.name + (f" ({OF_ALL})" if isinstance(events, Every) else "")


def battery_of(contract: str) -> int:
    """The number of the battery that a contract has today."""
    return OWN.get(contract, BATTERY)


def listed(case: Case, counts: Array | None, law: Array | None) -> list[dict[str, Any]]:
    """Outcomes of the first events of a case that are off by most, at most ``LISTED`` of them in their order.

    None where there are neither counts of them nor a law.
    """
    if counts is None and law is None:
        return []
    target = case.events[0].law
    measured = None if counts is None else counts / max(1, counts.sum())
    off = np.abs((measured if law is None else law) - target)
    places = np.sort(np.argsort(-off, kind="stable")[:LISTED])
    return [
        {
            "outcome": case.events[0].format(int(place)),
            "target": float(target[place]),
            "measured": None if measured is None else float(measured[place]),
            "exact": None if law is None else float(law[place]),
        }
        for place in places
    ]


def plain(arguments: Mapping[str, Any], dtype: str = "float64") -> dict[str, Any]:
    """Arguments for JSON; arrays that are too long to read by their shape, real ones of calls that give ``dtype``."""
    return {
        name: (
            value.tolist()
            if value.size <= 64
            else f"{dtype if value.dtype.kind == 'f' else value.dtype} {list(value.shape)}"
        )
        if isinstance(value, np.ndarray)
        else value
        for name, value in arguments.items()
    }
