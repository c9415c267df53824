"""What can be wrong beside a chain where rows are made of logits: another temperature, or another cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import Block, Call
from simlab.mutants.gated.chain_faults import FAULTS as OF_CHAINS
from simlab.mutants.gated.chain_faults import clipped
from simlab.mutants.gated.chains import ChainFault, End, Q, Rows
from simlab.processes.filters import FILTERS, Settings, softmax

Change = Callable[[Settings], Settings]


@dataclass(eq=False)
class LogitsCall(Call):
    """A call that is given logits ``[gamma + 1, V]`` and ``[gamma, V]``, and the settings that rows are made with."""

    contract: str = "chain_logits"
    target: Array = None
    draft: Array = None
    settings: Settings = Settings()  # noqa: RUF009 - it cannot be changed
    made: dict[tuple[bool, Change, str], Array] = field(default_factory=dict)

    def rows(self, of_q: bool, change: Change, contract: str = "") -> Array:
        """Rows made with other settings, or in the way of another contract, once."""
        kind = of_q, change, contract or self.contract
        if kind not in self.made:
            logits, settings = self.draft if of_q else self.target, change(self.settings)
            warm = softmax(logits / settings.temperature) if len(logits) else logits
            self.made[kind] = FILTERS[kind[2]](warm, settings._replace(temperature=1.0)) if len(logits) else logits
        return self.made[kind]

    def with_drafts(self, drafts: Array) -> LogitsCall:
        """A call of the same logits with other drafts."""
        call = LogitsCall(
            contract=self.contract, target=self.target, draft=self.draft, settings=self.settings, made=self.made
        )
        call.add(call.rows(False, _as_given), call.rows(True, _as_given), drafts)
        return call


def read(contract: str, target: Array, draft: Array, drafts: Array, settings: Settings) -> LogitsCall:
    """The call, with rows made as they should."""
    return LogitsCall(contract=contract, target=target, draft=draft, settings=settings).with_drafts(drafts)


def _as_given(settings: Settings) -> Settings:
    return settings


def _uncut(settings: Settings) -> Settings:
    """Without the filters."""
    return Settings(settings.temperature)


def _made_with(change: Change) -> Rows:
    """The rows of a block made with other settings."""
    return lambda block, of_q, place: clipped(_call(block).rows(of_q, change), place)


def _of_the_other(block: Block, of_q: bool, place: Any) -> tuple[Array, Any]:
    """The rows of a block with top-k and top-p in the other way."""
    call = _call(block)
    (other,) = (name for name in FILTERS if name != call.contract)
    return clipped(call.rows(of_q, _as_given, other), place)


def _uncut_bonus(end: End) -> Array:
    return np.asarray(_call(end.block).rows(False, _uncut)[end.position])


def _call(block: Block) -> LogitsCall:
    assert isinstance(block.call, LogitsCall), "only contracts of logits have these faults"
    return block.call


def _made() -> tuple[ChainFault, ...]:
    needed = {Q, "logits"}
    changes: dict[str, Change] = {
        "without the temperature": lambda settings: settings._replace(temperature=1.0),
        "with the temperature twice": lambda settings: settings._replace(temperature=settings.temperature**2),
        "at 1.5 times the temperature": lambda settings: settings._replace(temperature=1.5 * settings.temperature),
        "without the filters": _uncut,
        "cut to the top 2": lambda settings: settings._replace(top_k=2),
    }
    return (
        *(ChainFault(f"q {told}", "2", needed, draft_rows=_made_with(change)) for told, change in changes.items()),
        ChainFault("bonus without the filters", "21", needed, bonus=_uncut_bonus),
        ChainFault(
            "top-k and top-p applied in another way than asked for",
            "42",
            needed,
            rows=_of_the_other,
            draft_rows=_of_the_other,
        ),
        *(ChainFault(f"p {told}", "6", needed, rows=_made_with(change)) for told, change in changes.items()),
    )


FAULTS: dict[str, ChainFault] = OF_CHAINS | {fault.name: fault for fault in _made()}
