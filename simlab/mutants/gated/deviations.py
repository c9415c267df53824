"""How wrong a fault behind a gate is: the TV of what comes out from the target, in a shape in which the gate is open.

The shape is the smallest of a grid that the gate lets in. All rows are certain but one or two that are hard, of at most
four tokens, however large the vocabulary is; so the law is enumerated exactly. It is a lower bound of the largest TV
that any rows of the shape have.
"""

# ruff: noqa: SIM300 - V is no constant

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice, product
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated import chain_faults, logits, trees
from simlab.mutants.gated.base import Call, Fault, OverCoins, Wrong
from simlab.mutants.gated.candidates import draws
from simlab.mutants.gated.chains import BATCH
from simlab.mutants.gated.contracts import CONTRACTS, Contract
from simlab.mutants.gated.decoding import step
from simlab.mutants.gated.gates import ALWAYS, CALLS, GATES, MOST, Facts, Gate
from simlab.processes.filters import FILTERS, Settings
from simlab.randomness.coins import Coins, outcomes

ENOUGH = 0.02  # a deviation from which on a wrong implementation has to be found
TRIED = 4  # shapes of a gate
SIZES = (
    *range(2, 10),
    *(12, 16, 17, 24, 33, 34, 48, 64, 65, 66, 67, 70, 96, 100, 128, 129, 130, 192, 193, 194, 256, 257, 258, 513, 514),
    *(777, 1025, 1026, 2048, 4097, 16_385, 16_386, 32_000, 32_769, 32_770, 32_771, 32_836, 50_257, 65_537, 65_538),
    *(65_539, 65_540, 65_600, 65_601, 131_073, 131_074, 131_137, 151_936, 200_000, 262_144),
)
LENGTHS = (2, 3, 1, *range(4, 20), 24, 29, 33, 34, 41, 42, 49, 64, 65, 77, 96)
COUNTS = (1, 2, 3, 4, 5, 9, 10, 33, 34, 37, 65, 66, 100, 129, 130, 200, 256)

Law = dict[Any, float]
Outcome = tuple[int, ...]


@dataclass(frozen=True)
class Deviation:
    """A TV, and the shape that has it.

    ``exact`` is whether it is the TV of these rows, or less than that.
    """

    tv: float
    shape: Mapping[str, int] = field(default_factory=dict)
    exact: bool = True


@dataclass(frozen=True)
class Scene:
    """A shape, the sequence and the position that are hard, and the number of the call."""

    V: int
    gamma: int
    batch: int = 1
    sequence: int = 0
    position: int = 0
    call: int = 0
    fewer: int | None = None  # the sequence that has a draft less than others

    @property
    def shape(self) -> dict[str, int]:
        """Its sizes."""
        return {"V": self.V, "gamma": self.gamma, "batch": self.batch}

    @property
    def tokens(self) -> list[int]:
        """Tokens that have mass: at both ends of the vocabulary."""
        return sorted({0, 1, self.V - 2, self.V - 1} & set(range(self.V)))


def deviation(fault: str, gate: Gate, contract: str) -> Deviation:
    """The first TV of at least ``ENOUGH`` that is found, or the largest; 0 where the gate never opens.

    Parameters
    ----------
    fault, gate, contract
        A name of the contract's faults, the gate, and a name of :data:`~simlab.mutants.gated.contracts.CONTRACTS`.

    Returns
    -------
    Deviation
        For a gate of calls, the TV of the mean of all calls; 0 for a fault that is faint.
    """
    one = CONTRACTS[contract].faults[fault]
    if one.faint or not CONTRACTS[contract].fits(one, gate):
        return Deviation(0.0)
    alike = _alike(contract, fault)
    return _deviation(fault, gate.name, alike) if gate.name in GATES else _found(fault, gate, alike)


@cache
def _deviation(fault: str, gate: str, contract: str) -> Deviation:
    return _found(fault, GATES[gate], contract)


def _alike(contract: str, fault: str) -> str:
    """A contract under which the same rows come to the same law, for the cache."""
    if contract in FILTERS:
        return "verify" if fault in chain_faults.FAULTS else contract
    return "verify" if contract in ("chain_uniforms", "chain_exponential", "chain_gumbel") else contract


def _found(name: str, gate: Gate, contract: str) -> Deviation:
    of = CONTRACTS[contract]
    fault = of.faults[name]
    best = Deviation(0.0)
    for scene in _scenes(fault, gate, of):
        found_in = max((measured(scene, rows, Wrong(fault, gate), of) for rows in _rows(of)), key=lambda one: one.tv)
        found = Deviation(found_in.tv * gate.share, scene.shape, found_in.exact)
        best = max(best, found, key=lambda one: one.tv)
        if best.tv >= ENOUGH:
            break
    return best


# Scenes ------------------------------------------------------------------------------------------------------------


def _scenes(fault: Fault, gate: Gate, of: Contract) -> Iterator[Scene]:
    several = fault.pair or BATCH in fault.needs
    shorter = "ragged" in gate.needs
    for V, batch, gamma in _open_shapes(gate, fault.least, BATCH in of.has, of.group, several or shorter):
        sequence = _sequence(gate, V, batch, gamma, shorter)
        for fewer in (sequence,) if shorter else (0, sequence) if "ragged" in fault.needs else (None,):
            for position in _positions(gate, gamma - (fewer == sequence), of.group):
                yield Scene(V, gamma, batch, sequence, position, _call(gate), fewer)


def _open_shapes(gate: Gate, least: int, batches: bool, group: str, several: bool) -> list[tuple[int, int, int]]:
    """The first V, batch and gamma that are open: such that much can go wrong, and with few numbers."""
    counts = COUNTS if batches and gate.needs else (2,) if several else (1,)
    found = (
        (V, batch, gamma)
        for V, batch, gamma in _grid(counts, group)
        if V >= least
        and (group != "candidates" or V >= 2 * gamma + 4)
        and not (several and batch == 1)
        and gate.reachable({"V": V, "gamma": gamma, "batch": batch})
    )
    return list(islice(found, TRIED))


@cache
def _grid(counts: Sequence[int], group: str) -> list[tuple[int, int, int]]:
    """V, batch and gamma, those first that have enough of each, then by how many numbers there are."""
    every = product(SIZES, counts, LENGTHS)
    fitting = [(V, batch, gamma) for V, batch, gamma in every if V * (gamma + 1) * batch <= MOST]
    few = 7 if group == "decode" else 2
    return sorted(fitting, key=lambda one: (one[0] < 5, one[2] < few, one[0] * one[1] * (one[2] + 1)))


def _sequence(gate: Gate, V: int, batch: int, gamma: int, shorter: bool) -> int:
    """The one that is looked at: none that is the first, where others are inside."""
    if gate.of != "sequence":
        return 1 if batch > 1 else 0
    facts = Facts(V, gamma - shorter, batch, gamma, np.arange(batch))
    inside = np.flatnonzero(np.broadcast_to(gate.open(facts), batch)).tolist()
    return next((s for s in inside if s > 0), 0)


def _positions(gate: Gate, gamma: int, group: str) -> list[int]:
    """A few: where the gate opens first and last, and one before each; the ends of the block."""
    last = gamma if group in ("chain", "tree") else gamma - 1
    every = np.arange(last + 1)
    inside = np.flatnonzero(np.broadcast_to(gate.open(Facts(2, gamma, position=every)), every.shape)).tolist()
    if gate.of != "position" or not inside:
        inside = every.tolist()
    first, final = inside[0], inside[-1]
    wanted = [first, first + 1, final - 1, final, first - 1, last - 1, last, 0, final - 2]
    return [place for place in dict.fromkeys(wanted) if 0 <= place <= last]


def _call(gate: Gate) -> int:
    if gate.of != "call":
        return 0
    return int(np.flatnonzero(gate.open(Facts(2, 1, call=np.arange(CALLS))))[0])


# Rows that are hard ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hard:
    """The masses of up to four tokens under p and q at a position, and under p and q at the next one."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    next_p: tuple[float, ...]
    next_q: tuple[float, ...]
    settings: Settings = Settings()  # noqa: RUF009 - it cannot be changed


A, B = (0.5, 0.1, 0.1, 0.3), (0.1, 0.3, 0.2, 0.4)
C, D = (0.05, 0.45, 0.3, 0.2), (0.25, 0.25, 0.25, 0.25)
ROWS = (  # of which each kind of fault deviates on one at least
    Hard(A, B, C, D),
    Hard((0.3, 0.2, 0.4, 0.1), (1.0, 0.0, 0.0, 0.0), A, (0.0, 0.0, 0.0, 1.0)),
    Hard((0.0, 0.6, 0.0, 0.4), (0.5, 0.2, 0.2, 0.1), (0.7, 0.0, 0.0, 0.3), C),
    Hard((0.48, 0.04, 0.02, 0.46), (0.02, 0.5, 0.44, 0.04), B, (0.0, 1.0, 0.0, 0.0)),
    Hard((0.1, 0.2, 0.1, 0.6), (0.0, 0.0, 0.0, 1.0), D, A),
    Hard((0.1, 0.5, 0.3, 0.1), (0.5, 0.4, 0.1, 0.0), B, A),
    Hard((0.1, 0.8, 0.05, 0.05), (1.0, 0.0, 0.0, 0.0), C, A),
    Hard((0.0, 0.85, 0.15, 0.0), (0.5, 0.0, 0.0, 0.5), D, A),
)
OF_LOGITS = tuple(
    Hard(A, B, C, (0.4, 0.3, 0.2, 0.1), settings)
    for settings in (Settings(0.5), Settings(2.0), Settings(1.0, 2), Settings(1.0, 3), Settings(1.0, 2, 0.6))
)


def _rows(of: Contract) -> tuple[Hard, ...]:
    return ROWS + OF_LOGITS if "logits" in of.has else ROWS


def _spread(masses: Sequence[float], scene: Scene) -> Array:
    """Masses on the tokens of a scene, scaled."""
    row = np.zeros(scene.V)
    row[scene.tokens] = masses[: len(scene.tokens)]
    whole = row.sum()
    return row / whole if whole > 0 else _certain(scene.tokens[-1:], scene.V)[0]


def _certain(tokens: Sequence[int], V: int) -> Array:
    """A row for each token, which has all of its mass."""
    rows = np.zeros((len(tokens), V))
    rows[np.arange(len(tokens)), tokens] = 1
    return rows


def _tables(scene: Scene, rows: Hard, gamma: int, pair: bool) -> tuple[Array, Array]:
    """p ``[gamma + 1, V]`` and q ``[gamma, V]``: certain but for the position, and for the next one."""
    i, tokens = scene.position, scene.tokens
    p = _certain([tokens[k % len(tokens)] for k in range(gamma + 1)], scene.V)
    q = p[:gamma].copy()
    p[i] = _spread(rows.p, scene)
    if i < gamma:
        q[i] = _spread(rows.q, scene)
    if i + 1 <= gamma and not pair:
        p[i + 1] = _spread(rows.next_p, scene)
    if i + 1 < gamma and not pair:
        q[i + 1] = _spread(rows.next_q, scene)
    return p, q


def _support(row: Array) -> list[tuple[int, float]]:
    return [(x, float(row[x])) for x in np.flatnonzero(row).tolist()]


# Laws --------------------------------------------------------------------------------------------------------------


def measured(scene: Scene, rows: Hard, wrong: Wrong, of: Contract) -> Deviation:
    """The TV in one scene with these rows."""
    return MEASURES[of.group](scene, rows, wrong, of)


def total(law: Law, target: Law) -> float:
    """The TV of two laws."""
    return 0.5 * sum(abs(law.get(one, 0.0) - target.get(one, 0.0)) for one in law.keys() | target.keys())


def _summed(parts: Iterable[tuple[Any, float]]) -> Law:
    """The law of outcomes that come in parts."""
    found: Law = {}
    for outcome, probability in parts:
        found[outcome] = found.get(outcome, 0.0) + probability
    return found


def _completed(law: Law, p: Array) -> Law:
    """Tokens of one sequence completed by draws from p."""
    supports = [_support(row) for row in p]
    return _summed(
        ((*tokens, *(x for x, _ in more)), probability * float(np.prod([mass for _, mass in more])))
        for tokens, probability in law.items()
        for more in product(*supports[len(tokens) :])
    )


def _law(
    scene: Scene, wrong: Wrong, of: Contract, call: Callable[[Coins], Call], hard: Sequence[int] = (0,)
) -> dict[tuple[Outcome, ...], float]:
    """The law of what comes out of a call for the sequences that are hard."""

    def run(coins: Coins) -> tuple[Outcome, ...]:
        made = call(coins)
        made.number, made.before = scene.call, _call_before(made) if wrong.fault.stale else None
        return tuple(tuple(of.answer(made.blocks[s], OverCoins(coins), wrong)) for s in hard)

    return outcomes(run)


def _law_alone(scene: Scene, wrong: Wrong, of: Contract, *rows: Array) -> Law:
    """The law of what comes out of a call for one sequence, of the rows that the contract is given."""
    law = _law(scene, wrong, of, lambda coins: of.over(coins, *rows))
    return {tokens: mass for (tokens,), mass in law.items()}


def _of_blocks(scene: Scene, rows: Hard, wrong: Wrong, of: Contract) -> Deviation:
    """Of a verifier of chains: the joint law of the sequences that are hard."""
    pair = wrong.fault.pair
    hard = sorted({scene.sequence, *([0] if pair else [])})
    tables = {s: _tables(scene, rows, _gamma(scene, s), pair) for s in hard}
    made = _of_logits(of, tables[0], rows.settings) if "logits" in of.has else None
    if made is not None:
        tables[0] = made.blocks[0].p, made.blocks[0].table(of_q=True)

    def call(given: Mapping[int, Array], coins: Coins) -> Call:
        if made is not None:
            return made.with_drafts(given[0])
        every = ((*tables[s], given[s]) if s in given else _certainly(scene, s) for s in range(scene.batch))
        return of.of_sequences(coins, every)

    law = _summed(
        (tokens, chance * probability)
        for given, chance in _drafts({s: tables[s][1] for s in hard})
        for tokens, probability in _law(scene, wrong, of, partial(call, given), hard).items()
    )
    rightly = [tables[s][0] for s in hard]
    whole = _summed(
        (one, probability * mass)
        for tokens, probability in law.items()
        for one, mass in _joint([_completed({t: 1.0}, p) for t, p in zip(tokens, rightly, strict=True)]).items()
    )
    target = _joint([_completed({(): 1.0}, p) for p in rightly])
    return Deviation(total(whole, target), exact=not (pair and of.name in ("chain_exponential", "flat_exponential")))


def _drafts(q: Mapping[int, Array]) -> Iterator[tuple[dict[int, Array], float]]:
    """All drafts of sequences with rows ``q[gamma, V]``, and their probabilities."""
    for every in product(*(product(*map(_support, rows)) for rows in q.values())):
        chance = float(np.prod([mass for drafts in every for _, mass in drafts]))
        yield {s: np.array([x for x, _ in drafts], np.int64) for s, drafts in zip(q, every, strict=True)}, chance


def _of_logits(of: Contract, tables: tuple[Array, Array], settings: Settings) -> logits.LogitsCall:
    """A call of logits whose rows are made once."""
    with np.errstate(divide="ignore"):
        p, q = (np.log(rows) for rows in tables)
    return logits.read(of.name, p, q, np.zeros(len(q), np.int64), settings)


def _joint(laws: Sequence[Law]) -> Law:
    """The law of independent parts together."""
    found: Law = {(): 1.0}
    for law in laws:
        found = {(*before, one): a * b for before, a in found.items() for one, b in law.items()}
    return found


def _gamma(scene: Scene, sequence: int) -> int:
    """The drafts of a sequence."""
    return scene.gamma - (scene.fewer == sequence)


def _certainly(scene: Scene, sequence: int) -> tuple[Array, Array, Array]:
    """A sequence that is certain: p, q and drafts."""
    p, drafts = _others(scene.V, _gamma(scene, sequence), tuple(scene.tokens))
    return p, p[:-1], drafts


@cache
def _others(V: int, gamma: int, tokens: tuple[int, ...]) -> tuple[Array, Array]:
    """The rows and drafts of a sequence that is certain."""
    drafts = [tokens[(i + 1) % len(tokens)] for i in range(gamma + 1)]
    return _certain(drafts, V), np.array(drafts[:-1], np.int64)


def _call_before(call: Call) -> Call:
    """A call like this one with other rows."""
    before = Call()
    for block in call.blocks[:2]:
        before.add(np.roll(block.p, 1, axis=-1), block.q, block.drafts, block.bonus)
    return before


def _of_drafts(scene: Scene, rows: Hard, wrong: Wrong, of: Contract) -> Deviation:
    """Of a drafter."""
    q = _tables(scene, rows, scene.gamma, False)[0][: scene.gamma]

    return Deviation(total(_law_alone(scene, wrong, of, q), _completed({(): 1.0}, q)))


def _of_sequences(scene: Scene, rows: Hard, wrong: Wrong, of: Contract) -> Deviation:
    """Of a decoder: its model has a row for each place, whatever came before, and so has the law of a block."""
    length = scene.gamma
    p = _tables(scene, rows, length, False)[0][:length]

    def model(prefix: Outcome) -> Array:
        return p[min(len(prefix), length - 1)]

    def run(place: int, coins: Coins) -> Outcome:
        return tuple(step(model, (0,) * place, length, OverCoins(coins), wrong, scene.call))

    law: Law = {}
    waiting: list[Law] = [{(): 1.0}, *({} for _ in range(length))]
    for place in range(length):
        blocks = outcomes(partial(run, place)) if waiting[place] else {}
        for (before, a), (new, b) in product(waiting[place].items(), blocks.items()):
            tokens = (*before, *new)[:length]
            into = law if len(tokens) == length else waiting[len(tokens)]
            into[tokens] = into.get(tokens, 0.0) + a * b
    return Deviation(total(law, _completed({(): 1.0}, p)))


def _of_candidates(scene: Scene, rows: Hard, wrong: Wrong, of: Contract) -> Deviation:
    """Of a verifier of candidates: the first ones are nearly certain, and excluded by p; the last two are hard."""
    p, q, first = _spread(rows.p, scene), _spread(rows.q, scene), max(0, scene.gamma - 2)
    small = min(1e-9, 10.0 ** (-290 / max(1, scene.gamma)))
    if (q > 0).sum() < scene.gamma - first:
        return Deviation(0.0)
    prefix = list(range(2, 2 + first))
    q = q * small**first
    q[prefix] = small ** np.arange(first)
    q /= q.sum()
    law = _summed(
        (tokens, chance * probability)
        for more, chance in draws(q, scene.gamma - first, prefix).items()
        for tokens, probability in _law_alone(scene, wrong, of, p, q, np.array([*prefix, *more], np.int64)).items()
    )
    lost = 2 * first * small
    return Deviation(max(0.0, total(law, _completed({(): 1.0}, p[None])) - lost), exact=not first)


def _of_trees(scene: Scene, rows: Hard, wrong: Wrong, of: Contract) -> Deviation:
    """Of a verifier of trees: a chain that is certain, then siblings below a row that is hard, then a chain again."""
    p, tokens, parents = _tree(scene, rows)

    def run(coins: Coins) -> Outcome:
        call = Call(scene.call)
        for s in range(scene.batch):
            made = p if s == scene.sequence else np.roll(p, 1, axis=1)
            call.trees.append(trees.Tree.of_parents(made, tokens, parents, call))
        return trees.emitted(call.trees[scene.sequence], OverCoins(coins), wrong)

    tree = trees.Tree.of_parents(p, tokens, parents, Call())
    return Deviation(total(_left(outcomes(run), tree), _left({(): 1.0}, tree)))


def _tree(scene: Scene, rows: Hard) -> tuple[Array, list[int], list[int]]:
    """Rows after each node, tokens and parents."""
    names, count = scene.tokens, scene.gamma
    depth = min(scene.position, count - 1)
    siblings = min(count - depth, len(names) - 1)
    tokens, parents = [0], [-1]
    for i in range(depth):
        tokens.append(names[i % len(names)])
        parents.append(i)
    tokens += names[:siblings]
    parents += [depth] * siblings
    while len(tokens) <= count:  # below the first sibling
        parents.append(len(tokens) - 1 if parents[-1] != depth else depth + 1)
        tokens.append(names[len(tokens) % len(names)])
    below = [tokens[parents.index(i)] if i in parents else names[i % len(names)] for i in range(len(tokens))]
    p = _certain(below, scene.V)
    p[depth] = _spread(rows.p, scene)
    p[depth + 1] = _spread(rows.next_p, scene)
    return p, tokens, parents


def _left(law: Law, tree: trees.Tree) -> Law:
    """Tokens completed by p until they have left the tree."""
    found, waiting = list[tuple[Outcome, float]](), list(law.items())
    while waiting:
        tokens, probability = waiting.pop()
        node = _node(tree, tokens)
        if node is None:
            found.append((tokens, probability))
        else:
            waiting += [((*tokens, x), probability * mass) for x, mass in _support(tree.block.p[node])]
    return _summed(found)


def _node(tree: trees.Tree, tokens: Outcome) -> int | None:
    """The node that tokens lead to, if they stay in the tree."""
    node = 0
    for token in tokens:
        below = [child for child in tree.children[node] if tree.tokens[child] == token]
        if not below:
            return None
        node = below[0]
    return node


MEASURES: dict[str, Callable[[Scene, Hard, Wrong, Contract], Deviation]] = {
    "chain": _of_blocks,
    "draft": _of_drafts,
    "decode": _of_sequences,
    "candidates": _of_candidates,
    "tree": _of_trees,
}

__all__ = ["ALWAYS", "ENOUGH", "OF_LOGITS", "ROWS", "Deviation", "Scene", "deviation", "measured"]
