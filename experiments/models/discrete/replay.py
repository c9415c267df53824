"""Apply every rule to a recording: acceptance and distortion in the contexts of a real run.

All is computed from the rows, nothing is drawn. For a row p, its draft row q and a rule:

``acceptance``
    sum_x q(x) a(x), and ``gained`` what that is beyond the lossless rule's, sum_x min(p(x), q(x)).
``tv``
    between the law of the token emitted and p. No rule gains more than it spends (``leviathan.frontier``), so
    ``wasted`` = tv - gained is at least 0, and 0 for ``optimal-lossy``.
``kl``
    of that law from p, in nats; none where it is infinite: a token that p excludes can come out.
``wasserstein``
    Wasserstein-1 between them over the codebook; exact up to ``EXACT`` tokens, beyond for the tokens that hold 99 % of
    what moves (:func:`theory.wasserstein.wasserstein1_nearly`).

These are means over at most as many rows as asked for, spread evenly over the recording and the same for every rule.

``kept``
    How many drafts of a window a scan to the first rejection accepts: the sum over j of a(x_1) ... a(x_j), with the
    recorded drafts, mean over all windows. It is what the rule would do in the contexts of *this* run; a decoder that
    uses the rule goes on from what it accepted, and sees others.

Rules that need a codebook are there if the recording has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.models.discrete.recording import Rows
from experiments.models.recording import Notify, Replayed
from experiments.sweeps.tables import GroupTable
from simlab.arrays import total_variation
from simlab.checks import check_at_least
from simlab.registry import examples, meant
from simlab.rules import RULES, Rule, codebook_neighbours, make_rule
from simlab.rules.compiled import compiled_step
from theory.distances import kl
from theory.wasserstein import wasserstein1_exact, wasserstein1_nearly

EXACT = 4096  # tokens
FEW = 256, 32  # rows whose laws are computed, and of a large vocabulary: some minutes
GROUPS, NEIGHBOURS = 1024, 100  # at most; a quarter and a sixteenth of a smaller vocabulary
LOSSLESS = "speculative"
MEASURES = "acceptance", "tv", "kl", "wasserstein"


class Named(NamedTuple):
    """A rule with its parameters as they are written down."""

    name: str
    parameters: str
    rule: Rule


# Without and with a table over the codebook
PLAIN: list[tuple[str, dict[str, Any]]] = [
    (LOSSLESS, {}),
    *(("optimal-lossy", {"tv": tv}) for tv in (0.05, 0.1, 0.2)),
    *(("amplify", {"k": k}) for k in (1.5, 2, 4)),
    *(("addition", {"epsilon": epsilon}) for epsilon in (0.001, 0.01, 0.1)),
    *(("mixture", {"weight": weight}) for weight in (0.9, 0.75, 0.5)),
    *(("lenience", {"factor": factor, "residual": "lenient"}) for factor in (0.8, 0.5, 0.2)),
    *(("cactus", {"delta": delta}) for delta in (0.01, 0.1, 1.0)),
    *(("cascade", {"threshold": threshold}) for threshold in (0.9, 0.5, 0.1)),
    *(("truncation", {"threshold": threshold}) for threshold in (0.9, 0.5, 0.1)),
    *(("fuzzy", {"threshold": threshold}) for threshold in (0.02, 0.1, 0.3)),
    *((name, {"normaliser": constant}) for name in ("mars", "mars-reference") for constant in (10, 30)),
    ("typical", {"epsilon": 0.09, "delta": 0.3}),
    ("medusa-reference", {"epsilon": 0.09, "delta": 0.3}),
    *(("dynamic-grouped", {"size": size, "max_gap": 0.15}) for size in (3, 10, 25, 50)),
    ("gsd-reference", {"max_gap": 0.15}),
]
OVER: list[tuple[str, dict[str, Any]]] = [
    ("grouped", {}),
    ("grouped-group-residual", {}),
    *(("lantern", {"delta": delta}) for delta in (0.05, 0.1, 0.2, 0.4)),
    ("lantern-multiplicative", {"factor": 2}),
    ("lantern-greedy", {"delta": 0.2}),
    ("lantern-reference", {"delta": 0.2}),
]
PLAIN += [(name, own) for name in RULES if name not in dict(PLAIN + OVER) for own in examples(RULES, name, {})]


def rules_for(vocabulary: int, codebook: np.ndarray | None, only: Sequence[str] = ()) -> list[Named]:
    """The rules that are replayed, or ``only`` those of some names; the lossless one always, and first.

    Raises ``ValueError`` for a name there is no rule of, or of a rule that needs a codebook where there is none.
    """
    over = {name for name, _ in OVER}
    for name in only:
        if name not in RULES:
            raise ValueError(f"unknown rule {name!r}; {meant(name, RULES)}expected one of {', '.join(RULES)}")
        if codebook is None and name in over:
            raise ValueError(f"rule {name} needs a codebook, which the recording has not; expected another rule")
    wanted = {LOSSLESS, *(only or RULES)}
    found = [Named(name, _label(values), make_rule(name, **values)) for name, values in PLAIN if name in wanted]
    if codebook is None or not wanted & over:
        return found
    groups, neighbours = min(max(1, vocabulary // 4), GROUPS), min(max(1, vocabulary // 16), NEIGHBOURS)
    labels = {"labels": GroupTable(groups).of(codebook)}
    near = {"neighbours": codebook_neighbours(codebook, neighbours)}
    for name, values in OVER:
        if name in wanted:
            size, table = ({"groups": groups}, labels) if name.startswith("grouped") else ({"k": neighbours}, near)
            found.append(Named(name, _label(size | values), make_rule(name, **values, **table)))
    return found


def _label(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


# All of them ------------------------------------------------------------------------------------------------------


def replayed(recording: Rows, names: Sequence[str], rows: int | None, notify: Notify) -> Replayed:
    """All rules, or those of some ``names``, and laws of at most ``rows`` rows; ``FEW`` by default."""
    large = recording.vocabulary > EXACT
    rules = rules_for(recording.vocabulary, recording.codebook, names)
    table = replay(recording, rules, FEW[large] if rows is None else rows, notify)
    counts = {
        "rows": int(table.groupby(["rule", "parameters"], sort=False)["rows"].sum().iloc[0]),
        "windows": int(recording.windows[-1] + 1),
        "wasserstein": "99 % of the mass" if large else "exact",
    }
    lines = summary(table)
    told: list[Any] = lines.astype(object).where(lines.notna(), None).to_dict("records")
    return Replayed(counts, told, table)


def replay(recording: Rows, rules: list[Named], rows: int, notify: Notify = lambda done, total: None) -> pd.DataFrame:
    """A line for each rule and image: ``rule``, ``parameters``, ``image``, ``rows`` and the means of ``MEASURES`` over
    them, ``windows`` and the mean of ``kept`` over them.

    Raises ``ValueError`` for fewer than one row.
    """
    chosen = np.zeros(len(recording), dtype=bool)
    count = min(check_at_least("rows", rows, 1), len(recording))
    chosen[np.linspace(0, len(recording) - 1, count).round().astype(np.int64)] = True
    accepted = np.zeros((len(rules), len(recording)))
    measured = np.full((len(rules), len(MEASURES), len(recording)), np.nan)
    done, total = 0, len(rules) * int(chosen.sum())
    for where, p, q in recording.blocks():
        for r, named in enumerate(rules):
            accepted[r, where] = named.rule.accept_rows(p, q, recording.token[where])
            for i in np.flatnonzero(chosen[where]):
                measured[r, :, where.start + i] = _measures(named.rule, p[i], q[i], recording.codebook)
                done += 1
                notify(done, total)
    return _by_image(recording, rules, accepted, measured)


def _measures(rule: Rule, p: np.ndarray, q: np.ndarray, codebook: np.ndarray | None) -> tuple[float, ...]:
    """The ``MEASURES`` of one row."""
    step = compiled_step(rule, p, q)
    distance = wasserstein1_exact if len(p) <= EXACT else wasserstein1_nearly
    moved = np.nan if codebook is None else distance(step.law, p, codebook)
    return float(step.acceptance), float(total_variation(step.law, p)), float(kl(step.law, p)), moved


def prefixes(accepted: np.ndarray, windows: np.ndarray, place: np.ndarray) -> np.ndarray:
    """``[windows]``: the mean number of drafts a scan accepts, from the probabilities ``accepted[n]`` of each."""
    table = np.zeros((windows[-1] + 1, place.max() + 1))
    table[windows, place] = accepted
    return np.asarray(table.cumprod(axis=1).sum(axis=1))


def _by_image(recording: Rows, rules: list[Named], accepted: np.ndarray, measured: np.ndarray) -> pd.DataFrame:
    windows, parts = recording.windows, []
    first = np.flatnonzero(np.diff(windows, prepend=-1))
    for named, probability, values in zip(rules, accepted, measured, strict=True):
        rows = pd.DataFrame(dict(zip(MEASURES, values, strict=True)) | {"image": recording.image})
        rows = rows[rows["acceptance"].notna()].groupby("image").agg(["mean", "size"])
        whole = pd.Series(prefixes(probability, windows, recording.place)).groupby(recording.image[first])
        part = pd.DataFrame({"windows": whole.size(), "kept": whole.mean()})
        part = part.join(rows.xs("mean", axis=1, level=1)).join(rows["acceptance", "size"].rename("rows"))
        parts.append(part.rename_axis("image").reset_index().assign(rule=named.name, parameters=named.parameters))
    table = pd.concat(parts, ignore_index=True)
    table["rows"] = table["rows"].fillna(0).astype(np.int64)
    return table[["rule", "parameters", "image", "rows", *MEASURES, "windows", "kept"]]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A line for each rule: means over all rows and windows, what is gained and wasted, the lossless rule first."""
    found = []
    for (name, parameters), own in table.groupby(["rule", "parameters"], sort=False):
        measured = own[own["rows"] > 0]
        means = {m: float(np.average(measured[m], weights=measured["rows"])) for m in MEASURES}
        accepted = float(np.average(own["kept"], weights=own["windows"]))
        found.append({"rule": name, "parameters": parameters, **means, "kept": accepted})
    lines = pd.DataFrame(found).replace(np.inf, np.nan)
    lossless = lines.loc[lines["rule"] == LOSSLESS, "acceptance"].iloc[0]
    lines.insert(3, "gained", lines["acceptance"] - lossless)
    lines.insert(5, "wasted", lines["tv"] - lines["gained"])
    return lines
