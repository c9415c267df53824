"""Benchmarks of verifying blocks of drafts: the kernel, NumPy, transformers, reading memory alone.

Rows are float32 and a block has gamma = 8 drafts. On a *rejecting* block the first draft is rejected: the kernel reads
the rows p[V] and q[V] once, 8 V bytes, for the sums of blocks of [p - q]+, and then looks into one such block. On an
*accepting* block all drafts are accepted, and the token after them comes from the last row of p: 4 V bytes. Drafts that
are only accepted cost two entries each, which are not counted. Rows are laid out one after the other, and what is
verified moves on a row with each call, so that eight calls have used all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np

from experiments.bench import opponents
from experiments.bench.benchmark import Contender, Results, Time, race, ratio
from experiments.machine import last_level_cache, memory
from simlab.decoders.compiled.speculative import Chains, verify_drafts
from simlab.rules import Speculative
from simlab.rules.compiled.dispatch import compiled

NAME = "verification"
GAMMA = 8
VOCABULARIES = 1024, 16384, 65536
SINGLE = 4  # bytes of an entry
REJECTED, ACCEPTED = 0, 1  # a token that no block accepts, and one that every block accepts
INSIDE, BEYOND = 1 / 4, 4  # of the last-level cache: what all rows take together
SHARE_OF_MEMORY = 1 / 8  # ... at most
KERNEL, READING, ENGINE = "kernel", "reading alone", "transformers"
READING_ROWS = "reading the same rows"
WANTED_VOCABULARY = 16384
WANTED_ROWS = 0.85  # of reading the same rows, beyond the cache, from this V on
WANTED_NUMPY = {"inside": 15.0, "beyond": 10.0}


class Rows:
    """Rows that take about ``size`` bytes, and blocks of them."""

    def __init__(self, vocabulary: int, size: float) -> None:
        self.vocabulary = vocabulary
        self.blocks = max(1, round(size / ((2 * GAMMA + 1) * vocabulary * SINGLE)))
        random = np.random.Generator(np.random.Philox(vocabulary))
        self.p = self._drawn(random, GAMMA + 1, 0.0, 2.0)
        self.q = self._drawn(random, GAMMA, 1.0, 1.0)
        self.coins = random.random((self.blocks, GAMMA))
        self.noise = random.random((self.blocks, GAMMA + 1))

    def _drawn(self, random: np.random.Generator, rows: int, rejected: float, accepted: float) -> np.ndarray:
        """``float32[(B + 1) rows, V]``: flat Dirichlet rows, with two tokens that decide what happens."""
        found = random.standard_exponential(((self.blocks + 1) * rows, self.vocabulary), dtype=np.float32)
        found[:, REJECTED], found[:, ACCEPTED] = rejected, accepted
        found /= found.sum(axis=1, keepdims=True)
        return found

    def drafts(self, token: int) -> np.ndarray:
        """``int64[B, gamma]``: this token everywhere."""
        return np.full((self.blocks, GAMMA), token, np.int64)

    def views(self, p: np.ndarray, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """``p[B, gamma + 1, V]`` and ``q[B, gamma, V]``, each a row further than the one before."""
        shapes = (self.blocks, GAMMA + 1, self.vocabulary), (self.blocks, GAMMA, self.vocabulary)
        return [
            (
                p[k : k + self.blocks * (GAMMA + 1)].reshape(shapes[0]),
                q[k : k + self.blocks * GAMMA].reshape(shapes[1]),
            )
            for k in range(GAMMA)
        ]


def verification(quick: bool, watch: Callable[[str], None]) -> Results:
    """The kernel against the others, inside the cache and beyond it, on rejecting and on accepting blocks."""
    results = Results()
    engine = opponents.transformers()
    if isinstance(engine, str):
        results.notes.append(engine)
    cache, _ = last_level_cache()
    sizes = {"inside": INSIDE * cache, "beyond": min(BEYOND * cache, SHARE_OF_MEMORY * memory())}
    for vocabulary in (WANTED_VOCABULARY,) if quick else VOCABULARIES:
        for where, size in sizes.items():
            rows = Rows(vocabulary, size)
            for kind, token in (("rejecting", REJECTED), ("accepting", ACCEPTED)):
                what = setting(vocabulary, where, size / cache, kind)
                watch(f"{NAME}: {what}")
                times = race(NAME, what, contenders(rows, token, engine), seconds=0.4 if quick else 4)
                _judge(results, times, vocabulary, where, kind)
    return results


def setting(vocabulary: int, where: str, times: float, blocks: str) -> str:
    """What is verified: rows ``inside`` or ``beyond`` the cache, so many times as large, and blocks of a kind.

    The page of benchmarks reads it again.
    """
    return f"V = {vocabulary}, {where} the cache ({times:.3g} x), {blocks} blocks"


def contenders(rows: Rows, token: int, engine: opponents.Transformers | str) -> list[Contender]:
    """All that verify these rows with this token drafted everywhere; reading takes part as well."""
    read = (2 if token == REJECTED else 1) * rows.vocabulary * SINGLE  # bytes a block
    views, x = rows.views(rows.p, rows.q), rows.drafts(token)
    everything = GAMMA * rows.blocks

    # the kernel, over all rows in a call of `run`
    rule, tokens, length = compiled(Speculative()), np.empty((rows.blocks, GAMMA + 1), np.int64), x[:, 0].copy()

    def kernel() -> None:
        for p, q in views:
            tokens[:, :GAMMA], length[:] = x, 0
            verify_drafts(rule, Chains(p, q, tokens, length, rows.coins, rows.noise, GAMMA + 1), 0)

    words = [side.reshape(-1).view(np.int64) for side in (rows.p, rows.q)]
    whole = [(p.view(np.int64), q.view(np.int64)) for p, q in views]
    counts = np.full(rows.blocks, 0 if token == REJECTED else GAMMA)
    found = [
        Contender(KERNEL, kernel, {"blocks": everything, "bytes": everything * read}),
        Contender(READING, lambda: [opponents.read(side) for side in words], {"bytes": rows.p.nbytes + rows.q.nbytes}),
        Contender(
            READING_ROWS,
            lambda: [opponents.read_rows(p, q, counts, length) for p, q in whole],
            {"bytes": everything * read},
        ),
    ]

    # others take longer: another eighth of the rows in every call
    for name, verify in opponents.NUMPY.items():
        found.append(Contender(name, _through(verify, cycle(views), x, rows), {"blocks": rows.blocks}))
    if not isinstance(engine, str):
        found += _of_engine(engine, rows, x)
    return found


def _through(
    verify: opponents.Verify, views: Iterator[tuple[np.ndarray, np.ndarray]], x: np.ndarray, rows: Rows
) -> Callable[[], object]:
    return lambda: verify(*next(views), x, rows.coins, rows.noise)


def _of_engine(engine: opponents.Transformers, rows: Rows, x: np.ndarray) -> list[Contender]:
    """``transformers``' verification, which takes logits and one block a call, and its softmax alone."""
    with np.errstate(divide="ignore"):
        logits = np.log(rows.p), np.log(rows.q)
    views = [(engine.tensor(p), engine.tensor(q)) for p, q in rows.views(*logits)]
    drafts = engine.tensor(x)

    def contender(name: str, run: Callable[[int, object, object], object]) -> Contender:
        turns = cycle(views)

        def blocks() -> None:
            p, q = next(turns)
            for b in range(rows.blocks):
                run(b, q[b : b + 1], p[b : b + 1])

        return Contender(name, blocks, {"blocks": rows.blocks})

    return [
        contender(ENGINE, lambda b, q, p: engine.verify(drafts[b : b + 1], q, p)),
        contender(f"{ENGINE}: softmax", lambda b, q, p: engine.softmax(q, p)),
    ]


def _judge(results: Results, times: dict[str, Time], vocabulary: int, where: str, kind: str) -> None:
    """Add the times of a race, and what they say about the kernel."""
    wanted = kind == "rejecting" and vocabulary == WANTED_VOCABULARY
    best = max(opponents.NUMPY, key=lambda name: times[name].speed("blocks"))
    least = WANTED_ROWS if where == "beyond" and vocabulary >= WANTED_VOCABULARY else None
    found = [
        ratio(times, KERNEL, best, "blocks", WANTED_NUMPY[where] if wanted else None),
        ratio(times, KERNEL, READING, "bytes", kind="share"),
        ratio(times, KERNEL, READING_ROWS, "bytes", least, kind="share"),
    ]
    if ENGINE in times:
        whole, softmax = times[ENGINE], times[f"{ENGINE}: softmax"]
        rest = f"{ENGINE} without softmax"  # nobody ran it: the difference of two fastest turns
        times |= {rest: whole._replace(contender=rest, fastest=max(whole.fastest - softmax.fastest, 1e-9), seconds=[])}
        found += [ratio(times, KERNEL, name, "blocks") for name in (ENGINE, rest)]
    results.add(times, *found)
