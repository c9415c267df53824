"""Claims of LANTERN over thousands of tokens of a simulated process: which neighbours accept more, and move mass less.

Acceptance and TV are exact for each context. Two kinds of candidates are judged: sampled from the draft's row, as
Algorithm 1 has it, and the draft's likeliest token, scored with q = 1, as the published tree has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from simlab.processes import Pair, make_process
from simlab.rules import Amplify, Lantern, Rule, codebook_neighbours
from simlab.rules.compiled import compiled_step
from simlab.statistics import Estimate, paired
from theory.claims.base import Claims, Evidence, Finding, Verdict
from theory.claims.evidence import counterexample, example, not_refuted_if, rejects_mutants, require, search
from theory.claims.format import numbers
from theory.claims.lantern.neighbours import CRUCIAL
from theory.claims.sources import derived, said
from theory.contexts import Contexts, amplify_to, entropies, likeliest, means, visited
from theory.wasserstein import Cells, cells, wasserstein1_least, wasserstein1_most

CLAIMS = Claims("lantern")
VOCABULARY = 4096
COUNTS, DELTAS = (100, 300, 1000), (0.05, 0.1, 0.2, 0.4)  # Table 2
SHARE = 0.06  # of the vocabulary: what Table 4's k = 1000 is of 16384 tokens
DELTA = 0.2  # of Table 4
TEMPERATURES = {"flat": 0.2, "peaked": 0.05, "sharp": 0.02}
CANDIDATES = ("sampled", "likeliest")
MEASURES = ("l2", "cosine", "random")
NAMES = {"sampled": "sampled", "likeliest": "deterministic"}
CONTEXTS, FEW, MANY = 24, 6, 192
ALL = 0.999  # so much is called every draft
ALIKE = 0.25  # so little, of what both are ahead by, is called no difference


@lru_cache(maxsize=3)
def pair_of(rows: str) -> Pair:
    """A codebook process; all of them have the same codebook."""
    return make_process("codebook", vocabulary=VOCABULARY, length=64, temperature=TEMPERATURES[rows])


def codebook() -> np.ndarray:
    """The codebook of all of them, ``float64[V, d]``."""
    found = pair_of("flat").codebook
    assert found is not None, "it has one"
    return found


@lru_cache(maxsize=1)
def neighbours() -> Mapping[str, np.ndarray]:
    """The 1000 nearest tokens of each by every measure, ``int64[V, 1000]``."""
    return {measure: codebook_neighbours(codebook(), COUNTS[-1], measure) for measure in MEASURES}


@lru_cache(maxsize=1)
def within() -> Cells:
    """The codebook in cells, which bound Wasserstein-1 from above."""
    return cells(codebook(), 256)


class Setting(NamedTuple):
    """What a mean is taken for."""

    rows: str
    candidate: str
    measure: str
    k: int
    delta: float


def accepted(seed: int, setting: Setting) -> np.ndarray:
    """The acceptance of a setting in each of the fixed contexts."""
    rule = Lantern(shortest(neighbours()[setting.measure], setting.k), setting.delta)
    contexts = candidates(setting.rows, seed)[setting.candidate]
    return np.array([compiled_step(rule, *rows).acceptance for rows in zip(*contexts, strict=True)])


@lru_cache(maxsize=6)
def candidates(rows: str, seed: int) -> Mapping[str, Contexts]:
    """The contexts with either kind of candidate."""
    contexts = visited(pair_of(rows), CONTEXTS, seed)
    return dict(zip(CANDIDATES, (contexts, likeliest(contexts)), strict=True))


# Neighbours -----------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern.neighbours.empirical",
    said(
        "4.3.1, Table 4",
        CRUCIAL,
        "formalised",
        "Acceleration, as mean acceptance, on a simulated process in place of LlamaGen, with as many neighbours for "
        "its vocabulary as Table 4 has. That near tokens have alike masses is built into it, not found. A quarter of "
        "the lead is called no difference, as for Table 4, which has none at all; it is one where it is more by three "
        r"standard errors of the contexts. The paper compares at one $k$ and $\delta$; that it is so with more "
        r"neighbours for the size of the vocabulary, and at every $\delta$ of Table 2, is stronger, and false here: "
        "the last example.",
    ),
    r"On the simulated codebook process with $|V| = 4096$, at $\delta = 0.2$ and $k = 0.06 |V|$, nearest neighbours "
    r"accept more than random ones wherever these do not accept all, with $\ell_2$ and cosine less than a quarter of "
    r"that lead apart.",
    simulates="neighbours over a codebook",
)
def neighbours_empirical(seed: int) -> Finding:
    """A neighbourhood is useful if its tokens have mass where the draft token has been offered, which the tokens near a
    likely one have. On this process they have it by construction: a token's logit falls with its distance from a point
    that the prefix chooses. So what is seen is how much the rule makes of it, not whether images are so. Acceptance is
    exact for each context. Where every draft is accepted anyway, neither kind can be ahead.

    Not at every k and delta. Joining stops at the first neighbour that would reach delta. The nearest of a likely token
    are likely themselves, so it stops early, with some of delta unused; many random ones with little mass each fill it
    up. With 1,000 neighbours, where rows are flat and delta is small, random ones are ahead, by little. Both are
    compared in each context, and the mean of the differences has to exceed three standard errors.
    """
    count = round(SHARE * VOCABULARY)
    cases = list(product(TEMPERATURES, CANDIDATES))
    found = {
        (*case, measure): accepted(seed, Setting(*case, measure, count, DELTA))
        for case in cases
        for measure in MEASURES
    }

    def against(near: tuple[str, str], other: str) -> int:
        """Cases in which the two of ``near`` are not ahead of ``other``, or surely not alike."""
        wrong = 0
        for case in cases:
            less, more = sorted((found[*case, measure] for measure in near), key=np.mean)
            rest = found[*case, other]
            apart = surely_above_0(paired(more - less, ALIKE * (less - rest)))
            wrong += not (min(less.mean(), rest.mean()) > ALL or (less.mean() > rest.mean() and not apart))
        return wrong

    wrong = against(("l2", "cosine"), "random")
    return not_refuted_if(
        wrong == 0,
        search(
            f"V = {VOCABULARY}, k = {count}, delta = {DELTA}, {CONTEXTS} contexts each, mean acceptance with "
            "nearest by L2, by cosine, random: "
            + "; ".join(
                f"{rows} rows ({entropies(candidates(rows, seed)[candidate]).mean():.1f} bits), "
                f"{NAMES[candidate]} candidates (lossless {candidates(rows, seed)[candidate].lossless:.3f}) "
                + ", ".join(f"{found[rows, candidate, measure].mean():.4f}" for measure in MEASURES)
                for rows, candidate in cases
            )
            + f". Not so in {wrong} of {len(cases)} cases",
        ),
        _distances(seed, count),
        rejects_mutants({"random for cosine": ("l2", "random")}, lambda near: against(near, "cosine"), "the order"),
        *random_ahead(seed),
    )


def _distances(seed: int, count: int) -> Evidence:
    """How far mass is moved by each kind of neighbours, for each unit of acceptance gained."""
    lines = []
    for name, contexts in candidates("peaked", seed).items():
        few = Contexts(*(side[:FEW] for side in contexts))
        for measure in MEASURES:
            rule = Lantern(shortest(neighbours()[measure], count), DELTA)
            (least, most), found = bounds(few, rule), means(few, rule)
            gained = found.acceptance - few.lossless
            lines.append(
                f"{name}, {measure}: gained {gained:.3f} = TV {found.tv:.3f}, Wasserstein-1 {least:.3f} to {most:.3f}, "
                f"{least / gained:.2f} to {most / gained:.2f} for each unit gained"
            )
    return example(f"peaked rows, {FEW} contexts: " + "; ".join(lines))


def random_ahead(seed: int) -> list[Evidence]:
    """The setting with 1,000 neighbours in which random ones are most surely ahead of the nearest, and all settings.

    Raises
    ------
    CheckFailed
        If they are surely ahead in none.
    """
    settings = [
        Setting(rows, candidate, "l2", COUNTS[-1], delta)
        for rows, candidate in (("peaked", "sampled"), ("flat", "likeliest"))
        for delta in DELTAS
    ]
    found = {
        setting: [accepted_each(seed, setting._replace(measure=measure)) for measure in ("random", "l2")]
        for setting in settings
    }
    lead = {setting: paired(random, near) for setting, (random, near) in found.items()}
    ahead = [setting for setting in settings if surely_above_0(lead[setting])]
    worst = max(settings, key=lambda setting: lead[setting].mean / max(lead[setting].error, 1e-300))
    random, near = (float(each.mean()) for each in found[worst])
    require(worst in ahead, "random neighbours are ahead in no setting")
    return [
        example(
            f"not at every k and delta: V = {VOCABULARY}, {worst.rows} rows, {NAMES[worst.candidate]} candidates, "
            f"k = {worst.k}, delta = {worst.delta}: mean acceptance {near:.4f} with the nearest by L2, {random:.4f} "
            f"with random ones, which are ahead by {random - near:.4f} (standard error {lead[worst].error:.4f}) in "
            f"{lead[worst].n} contexts",
            numbers("lantern", worst._asdict(), nearest=near, random=random, ahead=random - near),
        ),
        search(
            f"random ones ahead by more than three standard errors in {len(ahead)} of {len(settings)} settings; by "
            + ", ".join(
                f"{lead[s].mean:.4f} (standard error {lead[s].error:.4f}; {s.rows}, {NAMES[s.candidate]}, "
                f"delta = {s.delta})"
                for s in settings
            ),
        ),
    ]


def accepted_each(seed: int, setting: Setting) -> np.ndarray:
    """The acceptance of each context; there are many contexts where the candidate is deterministic."""
    if setting.candidate == "sampled":
        return accepted(seed, setting)
    rule = Lantern(shortest(neighbours()[setting.measure], setting.k), setting.delta)
    contexts = likeliest(visited(pair_of(setting.rows), MANY, seed))
    return np.asarray(rule.accept_rows(*contexts, contexts.q.argmax(axis=1)))


@CLAIMS.claim(
    "lantern.neighbours.naive",
    derived("3.1, Table 4", "The paper compares with no rule that knows of no codebook."),
    "On the simulated codebook process, at equal mean acceptance, LANTERN moves mass less far over the codebook, as "
    "Wasserstein-1, than amplify, which knows of no codebook.",
    simulates="neighbours over a codebook",
)
def neighbours_naive(seed: int) -> Finding:
    """Both gain the acceptance that their TV allows (lantern.frontier, leviathan.frontier), so at equal acceptance they
    move as much mass. LANTERN accepts a draft because its neighbours are likely; but mass is missing wherever p exceeds
    q (lantern.neighbours.distance). Amplify accepts more of what the target itself finds likely. Distances are known
    context by context, between a least and a most; a mean over contexts decides where it is beyond three of its
    standard errors.
    """
    near = shortest(neighbours()["l2"], round(SHARE * VOCABULARY))
    told, farther, nearer, sides = [], [], [], {}
    for rows in ("peaked", "sharp"):
        few = Contexts(*(side[:FEW] for side in candidates(rows, seed)["sampled"]))
        relaxed = means(few, Lantern(near, DELTAS[1]))
        naive = Amplify(amplify_to(few, relaxed.acceptance))
        require(abs(means(few, naive).tv - relaxed.tv) < 1e-9, "the two do not move as much mass")
        lantern, amplify = (each_bounds(few, rule) for rule in (Lantern(near, DELTAS[1]), naive))
        farther.append(surely_above_0(paired(lantern[0], amplify[1])))
        nearer.append(surely_above_0(paired(amplify[0], lantern[1])))
        sides[rows] = {"LANTERN": lantern.mean(axis=1).tolist(), "amplify": amplify.mean(axis=1).tolist()}
        told.append(
            f"{rows} rows, acceptance {relaxed.acceptance:.4f}, TV {relaxed.tv:.4f}, "
            + ", ".join(f"{name} {least:.4f} to {most:.4f}" for name, (least, most) in sides[rows].items())
        )
    verdict: Verdict = "refuted" if any(farther) else "not-refuted" if all(nearer) else "not-decided"
    return Finding(
        verdict,
        [
            counterexample(
                f"V = {VOCABULARY}, {near.shape[1]} nearest by L2, delta = {DELTAS[1]}, sampled candidates, {FEW} "
                f"contexts each, mean Wasserstein-1 (least to most): {'; '.join(told)}",
                numbers("lantern", {"k": near.shape[1], "delta": DELTAS[1]}, **sides),
            )
        ],
    )


def surely_above_0(more: Estimate) -> bool:
    """Whether a mean is above 0 by more than three of its standard errors."""
    return more.mean > 3 * more.error


def each_bounds(contexts: Contexts, rule: Rule) -> np.ndarray:
    """``float64[2, n]``: what the Wasserstein-1 of a rule lies between in each context."""
    return np.array([bounds(Contexts(p[None], q[None]), rule) for p, q in zip(*contexts, strict=True)]).T


def bounds(contexts: Contexts, rule: Rule) -> tuple[float, float]:
    """What the mean Wasserstein-1 of a rule over the codebook lies between."""
    least = means(contexts, rule, lambda law, p: wasserstein1_least(law, p, codebook(), 250)).wasserstein
    return least, means(contexts, rule, lambda law, p: wasserstein1_most(law, p, codebook(), within())).wasserstein


def shortest(near: np.ndarray, k: int) -> np.ndarray:
    """The first ``k`` neighbours of each token."""
    return np.ascontiguousarray(near[:, :k])
