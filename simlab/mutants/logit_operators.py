"""Operators of one block that are given logits, a temperature and filters: correct ones, and known bugs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.mutants.base import Mutant
from simlab.mutants.operators import all_at_once
from simlab.processes.processors import tempered, top_k, top_p

Operator = Callable[..., Any]


class Settings(NamedTuple):
    """How logits become what is drawn from."""

    temperature: float = 1.0
    top_k: int = 1 << 30
    top_p: float = 1.0


Made = Callable[[Array, Settings], Array]


def in_turn(rows: Array, settings: Settings) -> Array:
    """Top-p of what top-k has left."""
    return top_p(top_k(tempered(rows, settings.temperature), settings.top_k), settings.top_p)


def jointly(rows: Array, settings: Settings) -> Array:
    """What both top-k and top-p keep of the same row."""
    warm = tempered(rows, settings.temperature)
    kept = np.where((top_k(warm, settings.top_k) > 0) & (top_p(warm, settings.top_p) > 0), warm, 0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _without_temperature(made: Made) -> Made:
    return lambda rows, settings: made(rows, settings._replace(temperature=1.0))


def _without_filters(made: Made) -> Made:
    return lambda rows, settings: made(rows, Settings(settings.temperature))


FILTERS: dict[str, Made] = {"chain_logits": in_turn, "chain_logits_joint": jointly}


def operator(target: Made, draft: Made, bonus: Made | None = None) -> Operator:
    """An operator that makes p and q of logits in these ways; the row of the bonus in another, if one is given."""

    def verify(
        target_logits: Array,
        draft_logits: Array,
        drafts: Array,
        uniforms: Array,
        uniform: Array,
        temperature: float,
        k: int,
        mass: float,
    ) -> Array:
        settings = Settings(temperature, k, mass)
        p, q = target(softmax(target_logits), settings), draft(softmax(draft_logits), settings)
        if bonus:
            p[-1:] = bonus(softmax(target_logits[-1:]), settings)
        return all_at_once(p, q, drafts, uniforms, uniform)

    return verify


def softmax(logits: Array) -> Array:
    """Rows of logits as rows of probabilities."""
    wide = logits.astype(np.float64)
    masses = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.asarray(masses / masses.sum(axis=-1, keepdims=True))


CORRECT: dict[str, dict[str, Operator]] = {
    contract: {"the loop of the papers, in single precision": operator(made, made)}
    for contract, made in FILTERS.items()
}


def _bugs(contract: str) -> dict[str, Mutant[Operator]]:
    made, other = FILTERS[contract], next(one for name, one in FILTERS.items() if name != contract)
    found = (
        ("2", "drafts scored without their temperature", operator(made, _without_temperature(made))),
        ("2", "drafts scored without their filters", operator(made, _without_filters(made))),
        ("6", "target without its temperature", operator(_without_temperature(made), made)),
        ("21", "bonus without the filters", operator(made, made, _without_filters(made))),
        ("42", "top-k and top-p applied in another way than asked for", operator(other, other)),
    )
    return {name: Mutant(name, number, run) for number, name, run in found}


BUGS: dict[str, dict[str, Mutant[Operator]]] = {contract: _bugs(contract) for contract in FILTERS}
