"""Claims of LANTERN over thousands of tokens: neighbours, k and delta, what comes out of a step and of a sequence.

Acceptance and TV are exact for each context. Two kinds of candidates are judged: sampled from the draft's row, as
Algorithm 1 has it, and the draft's likeliest token, scored with q = 1, as the published tree has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from simlab.processes import Pair, make_process
from simlab.rules import Amplify, Lantern, Rule, codebook_neighbours
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import counterexample, example, not_refuted_if, refuted_if, rejects_mutants, require, search
from theory.claims.format import numbers
from theory.contexts import Contexts, Means, amplify_to, entropies, likeliest, means, visited
from theory.wasserstein import Cells, cells, wasserstein1_least, wasserstein1_most

CLAIMS = Claims("lantern")
VOCABULARY = 4096
COUNTS, DELTAS = (100, 300, 1000), (0.05, 0.1, 0.2, 0.4)  # Table 2
SHARE = 0.06  # of the vocabulary: what Table 4's k = 1000 is of 16384 tokens
TABLE_4 = 0.2  # its delta
TEMPERATURES = {"flat": 0.2, "peaked": 0.05, "sharp": 0.02}
CANDIDATES = ("sampled", "likeliest")
MEASURES = ("l2", "cosine", "random")
CONTEXTS, FEW = 24, 6
ALL = 0.999  # so much is called every draft
ALIKE = 0.25  # so little, of what both are ahead by, is called no difference


@lru_cache(maxsize=3)
def pair_of(rows: str) -> Pair:
    """A codebook process; all of them have the same codebook."""
    return make_process("codebook", vocabulary=VOCABULARY, length=64, temperature=TEMPERATURES[rows])


@lru_cache(maxsize=1)
def neighbours() -> Mapping[str, np.ndarray]:
    """The 1000 nearest tokens of each by every measure, ``int64[V, 1000]``."""
    codebook = pair_of("flat").codebook
    assert codebook is not None, "it has one"
    return {measure: codebook_neighbours(codebook, COUNTS[-1], measure) for measure in MEASURES}


class Setting(NamedTuple):
    """What a mean is taken for."""

    rows: str
    candidate: str
    measure: str
    k: int
    delta: float


@lru_cache(maxsize=4)
def table(seed: int, counts: tuple[int, ...] = COUNTS, deltas: tuple[float, ...] = DELTAS) -> Mapping[Setting, Means]:
    """Means of every setting over fixed contexts."""
    found = {}
    for rows in TEMPERATURES:
        for candidate, contexts in candidates(rows, seed).items():
            for measure in MEASURES:
                for k in counts:
                    near = shortest(neighbours()[measure], k)
                    for delta in deltas:
                        setting = Setting(rows, candidate, measure, k, delta)
                        found[setting] = means(contexts, Lantern(near, delta))
    return found


@lru_cache(maxsize=6)
def candidates(rows: str, seed: int) -> Mapping[str, Contexts]:
    """The contexts with either kind of candidate."""
    contexts = visited(pair_of(rows), CONTEXTS, seed)
    return dict(zip(CANDIDATES, (contexts, likeliest(contexts)), strict=True))


# Neighbours -----------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern.neighbours.empirical",
    "Table 4",
    "At delta = 0.2 and as many neighbours as Table 4 has for its vocabulary, nearest ones accept more than random "
    "ones, with L2 and cosine alike.",
    simulates="neighbours over a codebook",
)
def neighbours_empirical(seed: int) -> Finding:
    """A neighbourhood is useful if its tokens have mass where the draft token has been offered, which the tokens near a
    likely one have. Exact, on rows of a process over a codebook; how it is on the rows of an image model depends on
    them. Where every draft is accepted anyway, neither kind can be ahead.
    """
    count = round(SHARE * VOCABULARY)
    found = table(seed, (count,), (TABLE_4,))

    def of(rows: str, candidate: str, measure: str) -> float:
        return found[Setting(rows, candidate, measure, count, TABLE_4)].acceptance

    def against(near: tuple[str, str], other: str) -> int:
        """Cases in which the two of ``near`` are not ahead of ``other``, or not alike."""
        wrong = 0
        for case in product(TEMPERATURES, CANDIDATES):
            one, two, rest = (of(*case, measure) for measure in (*near, other))
            lead = min(one, two) - rest
            wrong += not (min(one, two, rest) > ALL or (lead > 0 and abs(one - two) <= ALIKE * lead))
        return wrong

    wrong = against(("l2", "cosine"), "random")
    return not_refuted_if(
        wrong == 0,
        search(
            f"V = {VOCABULARY}, k = {count}, delta = {TABLE_4}, {CONTEXTS} contexts each, mean acceptance with "
            "nearest by L2, by cosine, random: "
            + "; ".join(
                f"{rows} rows ({entropies(candidates(rows, seed)[candidate]).mean():.1f} bits), {candidate} "
                f"candidates (lossless {candidates(rows, seed)[candidate].lossless:.3f}) "
                + ", ".join(f"{of(rows, candidate, measure):.4f}" for measure in MEASURES)
                for rows, candidate in product(TEMPERATURES, CANDIDATES)
            )
            + f". Not so in {wrong} of 6 cases",
        ),
        _distances(seed, count),
        rejects_mutants({"random for cosine": ("l2", "random")}, lambda near: against(near, "cosine"), "the order"),
    )


def _distances(seed: int, count: int) -> Evidence:
    """How far mass is moved by each kind of neighbours, for each unit of acceptance gained."""
    codebook = pair_of("peaked").codebook
    assert codebook is not None, "it has one"
    within, lines = cells(codebook, 256), []
    for name, contexts in candidates("peaked", seed).items():
        few = Contexts(*(side[:FEW] for side in contexts))
        for measure in MEASURES:
            rule = Lantern(shortest(neighbours()[measure], count), TABLE_4)
            (least, most), found = bounds(few, rule, codebook, within), means(few, rule)
            gained = found.acceptance - few.lossless
            lines.append(
                f"{name}, {measure}: gained {gained:.3f} = TV {found.tv:.3f}, Wasserstein-1 {least:.3f} to {most:.3f}, "
                f"{least / gained:.2f} to {most / gained:.2f} for each unit gained"
            )
    return example(f"peaked rows, {FEW} contexts: " + "; ".join(lines))


@CLAIMS.claim(
    "lantern.neighbours.settings",
    "Tables 2, 4",
    "Nearest neighbours accept more than random ones at every k and delta of Table 2.",
    stated=False,
    simulates="neighbours over a codebook",
)
def neighbours_settings(seed: int) -> Finding:
    """Joining stops at the first neighbour that would reach delta. The nearest of a likely token are likely themselves,
    so it stops early, with much of delta unused; many random ones with little mass each fill it up. With small delta
    and many neighbours random ones can be ahead.
    """
    found = table(seed)
    pairs = {s: found[s._replace(measure="random")] for s in found if s.measure == "l2"}
    behind = {s: pairs[s].acceptance - found[s].acceptance for s in pairs if pairs[s].acceptance > found[s].acceptance}
    worst = max(behind, key=lambda s: behind[s], default=None)
    itself = sum(found[s].acceptance > found[s].acceptance for s in pairs)
    require(itself == 0, "nearest neighbours are behind themselves")
    if worst is None:
        return Finding("not-refuted", [search(f"nearest by L2 ahead in {len(pairs)} settings")])
    return Finding(
        "refuted",
        [
            counterexample(
                f"V = {VOCABULARY}, {worst.rows} rows, {worst.candidate} candidates, k = {worst.k}, delta = "
                f"{worst.delta}: mean acceptance {found[worst].acceptance:.4f} with the nearest by L2, "
                f"{pairs[worst].acceptance:.4f} with random ones",
                numbers("lantern", worst._asdict(), nearest=found[worst].acceptance, random=pairs[worst].acceptance),
            ),
            search(
                f"random ones ahead in {len(behind)} of {len(pairs)} settings: "
                + ", ".join(f"{s.rows}, {s.candidate}, k = {s.k}, delta = {s.delta}" for s in behind),
            ),
        ],
    )


@CLAIMS.claim(
    "lantern.neighbours.naive",
    "3.1, Table 4",
    "At equal acceptance LANTERN moves mass less far over the codebook than amplify, which knows of no codebook.",
    stated=False,
    simulates="neighbours over a codebook",
)
def neighbours_naive(seed: int) -> Finding:
    """Both gain the acceptance that their TV buys (lantern.frontier, leviathan.frontier), so at equal acceptance they
    move as much mass. LANTERN accepts a draft because its neighbours are likely; but mass is missing wherever p exceeds
    q (lantern.neighbours.distance). Amplify accepts more of what the target itself finds likely. Which of the two is
    nearer differs between rows and deltas.
    """
    codebook = pair_of("peaked").codebook
    assert codebook is not None, "it has one"
    within, near = cells(codebook, 256), shortest(neighbours()["l2"], round(SHARE * VOCABULARY))
    found = {}
    for rows in ("peaked", "sharp"):
        few = Contexts(*(side[:FEW] for side in candidates(rows, seed)["sampled"]))
        relaxed = means(few, Lantern(near, DELTAS[1]))
        k = amplify_to(few, relaxed.acceptance)
        found[rows] = (
            relaxed,
            {
                name: bounds(few, rule, codebook, within)
                for name, rule in {
                    "LANTERN": Lantern(near, DELTAS[1]),
                    "amplify": Amplify(k),
                }.items()
            },
        )
        apart = abs(means(few, Amplify(k)).tv - relaxed.tv)
        require(apart < 1e-9, "the two do not move as much mass")
    farther = [rows for rows, (_, sides) in found.items() if sides["LANTERN"][0] > sides["amplify"][1]]
    return refuted_if(
        bool(farther),
        counterexample(
            f"V = {VOCABULARY}, {near.shape[1]} nearest by L2, delta = {DELTAS[1]}, sampled candidates, {FEW} "
            "contexts each, mean Wasserstein-1 (least to most): "
            + "; ".join(
                f"{rows} rows, acceptance {relaxed.acceptance:.4f}, TV {relaxed.tv:.4f}, "
                + ", ".join(f"{name} {least:.4f} to {most:.4f}" for name, (least, most) in sides.items())
                for rows, (relaxed, sides) in found.items()
            )
            + f". LANTERN is surely farther on {' and '.join(farther) or 'none'}",
            numbers(
                "lantern",
                {"k": near.shape[1], "delta": DELTAS[1]},
                **{rows: sides for rows, (_, sides) in found.items()},
            ),
        ),
    )


def bounds(contexts: Contexts, rule: Rule, codebook: np.ndarray, within: Cells) -> tuple[float, float]:
    """What the mean Wasserstein-1 of a rule lies between."""
    least = means(contexts, rule, lambda law, p: wasserstein1_least(law, p, codebook, 250)).wasserstein
    return least, means(contexts, rule, lambda law, p: wasserstein1_most(law, p, codebook, within)).wasserstein


# k and delta ----------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "lantern.monotone.scale",
    "Table 2",
    "Over thousands of tokens the mean accept probability rises with k and with delta, or stays; and where the "
    "candidate is sure and scored with q = 1, relaxation adds less than delta.",
    stated=False,
    simulates="neighbours over a codebook",
)
def monotone_scale(seed: int) -> Finding:
    """That it never falls is lantern.monotone. A sure candidate x is accepted with P(A), and P(A) - p(x) is the mass
    that moves, below delta. Table 2 is of this kind: its gains over 0.0402 are 0.55 to 0.81 of delta. Sampled
    candidates have no such limit: with q(x) small, a neighbourhood of mass delta accepts them surely.
    """

    def falls(lists: Callable[[np.ndarray, int], np.ndarray]) -> int:
        """Steps of k or delta at which the mean falls, with neighbours by L2."""
        count = 0
        for rows, candidate in product(TEMPERATURES, CANDIDATES):
            contexts = candidates(rows, seed)[candidate]
            accepted = np.array(
                [
                    [means(contexts, Lantern(lists(neighbours()["l2"], k), delta)).acceptance for delta in DELTAS]
                    for k in COUNTS
                ]
            )
            count += int((np.diff(accepted, axis=0) < -1e-12).sum() + (np.diff(accepted, axis=1) < -1e-12).sum())
        return count

    found = table(seed)
    down = falls(shortest)
    sure = {
        s: m.acceptance - candidates(s.rows, seed)[s.candidate].lossless
        for s, m in found.items()
        if s.candidate == "likeliest"
    }
    require(all(gain < s.delta for s, gain in sure.items()), "a sure candidate gains delta or more")
    whole = sum(m.acceptance > ALL for s, m in found.items() if s.candidate == "sampled" and s.rows == "flat")
    return not_refuted_if(
        down == 0,
        search(
            f"V = {VOCABULARY}, nearest by L2, k = {', '.join(map(str, COUNTS))}, delta = "
            f"{', '.join(map(str, DELTAS))}, {CONTEXTS} contexts of three kinds, both kinds of candidates: it "
            f"falls in {down} of 102 steps. Flat rows, sure candidates (lossless "
            f"{candidates('flat', seed)['likeliest'].lossless:.4f}): "
            + "; ".join(
                f"k = {k}: "
                + ", ".join(f"{found[Setting('flat', 'likeliest', 'l2', k, d)].acceptance:.4f}" for d in DELTAS)
                for k in COUNTS
            )
            + f". Flat rows, sampled candidates: {whole} of 36 settings accept more than {ALL:.1%} of all drafts",
        ),
        rejects_mutants({"lists that get shorter as k grows": _shorter}, falls, "a fall"),
    )


def shortest(near: np.ndarray, k: int) -> np.ndarray:
    """The first ``k`` neighbours of each token."""
    return np.ascontiguousarray(near[:, :k])


def _shorter(near: np.ndarray, k: int) -> np.ndarray:
    return shortest(near, COUNTS[0] + COUNTS[-1] - k)
