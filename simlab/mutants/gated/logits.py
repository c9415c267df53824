"""What can be wrong beside a chain where rows are made of logits: another temperature, or another cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import Block, Call
from simlab.mutants.gated.chain_faults import FAULTS as OF_CHAINS
from simlab.mutants.gated.chains import ChainFault, End, Q
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

    def rows(self, q: bool, change: Change, contract: str = "") -> Array:
        """Rows made with other settings, or in the way of another contract, once."""
        kind = q, change, contract or self.contract
        if kind not in self.made:
            logits = self.draft if q else self.target
            self.made[kind] = FILTERS[kind[2]](softmax(logits), change(self.settings)) if len(logits) else logits
        return self.made[kind]

    def with_drafts(self, drafts: Array) -> LogitsCall:
        """A call of the same logits with other drafts."""
        call = LogitsCall(
            contract=self.contract, target=self.target, draft=self.draft, settings=self.settings, made=self.made
        )
        call.blocks.append(Block(call.rows(False, _as_given), call.rows(True, _as_given), drafts, call))
        return call


def read(contract: str, target: Array, draft: Array, drafts: Array, settings: Settings) -> LogitsCall:
    """The call, with rows made as they should."""
    return LogitsCall(contract=contract, target=target, draft=draft, settings=settings).with_drafts(drafts)


def _as_given(settings: Settings) -> Settings:
    return settings


def _cold(settings: Settings) -> Settings:
    """Without the temperature."""
    return settings._replace(temperature=1.0)


def _twice(settings: Settings) -> Settings:
    """With the temperature applied once more."""
    return settings._replace(temperature=settings.temperature**2)


def _warmer(settings: Settings) -> Settings:
    return settings._replace(temperature=1.5 * settings.temperature)


def _uncut(settings: Settings) -> Settings:
    """Without the filters."""
    return Settings(settings.temperature)


def _top_two(settings: Settings) -> Settings:
    return settings._replace(top_k=2)


def _rows(q: bool, change: Change, block: Block, place: Any) -> tuple[Array, Any]:
    """The rows of a block made otherwise."""
    call = block.call
    assert isinstance(call, LogitsCall)
    made = call.rows(q, change)
    return made, np.clip(place, 0, len(made) - 1)


def _of_the_other(q: bool, block: Block, place: Any) -> tuple[Array, Any]:
    """The rows of a block with top-k and top-p in the other way."""
    call = block.call
    assert isinstance(call, LogitsCall)
    (other,) = (name for name in FILTERS if name != call.contract)
    made = call.rows(q, _as_given, other)
    return made, np.clip(place, 0, len(made) - 1)


def _uncut_bonus(end: End) -> Array:
    call = end.block.call
    assert isinstance(call, LogitsCall)
    return np.asarray(call.rows(False, _uncut)[end.position])


def _made() -> tuple[ChainFault, ...]:
    needed = frozenset({Q, "logits"})
    changes = (
        ("without the temperature", _cold),
        ("with the temperature twice", _twice),
        ("at 1.5 times the temperature", _warmer),
        ("without the filters", _uncut),
        ("cut to the top 2", _top_two),
    )
    return (
        *(ChainFault(f"q {told}", "2", needed, draft_rows=partial(_rows, True, change)) for told, change in changes),
        ChainFault("bonus without the filters", "21", needed, bonus=_uncut_bonus),
        ChainFault(
            "top-k and top-p applied in another way than asked for",
            "42",
            needed,
            rows=partial(_of_the_other, False),
            draft_rows=partial(_of_the_other, True),
        ),
        *(ChainFault(f"p {told}", "6", needed, rows=partial(_rows, False, change)) for told, change in changes),
    )


FAULTS: dict[str, ChainFault] = OF_CHAINS | {fault.name: fault for fault in _made()}
