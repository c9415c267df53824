"""A step asks nothing back from where the model runs: the host waits once, to learn whether all sequences are over."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from experiments.models.operations import Operations
from simlab.decoders import Decoder, make_decoder, run
from simlab.models.architectures.eagle import EagleDraft
from simlab.models.process.cached import Cached
from simlab.randomness import Tape
from simlab.rules import Rule, make_rule
from tests.support.networks import SAMPLINGS, V, as_on_a_device, classes, head, model

pytestmark = pytest.mark.exact

LIMIT = 1  # read a step: the loop's own
PAC = {"window": 4, "candidates": 2, "depth": 2}
DECODERS: list[tuple[str, dict[str, Any]]] = [
    ("candidate-tree", {"branching": [2, 2]}),
    ("dynamic-tree", {"top_k": 2, "depth": 1, "total": 4}),
    *((name, PAC) for name in ("sjd-pd", "sjd-pac")),
    *(("sjd-pac", {**PAC, "renewal": renewal}) for renewal in ("maximal", "gumbel")),
    *((name, {"gamma": 3}) for name in ("speculative", "block", "hierarchical")),
    *((name, {"window": 4}) for name in ("jacobi", "sjd", "sjd-ac")),
    ("traversal", {"branching": [2, 2]}),
    ("autoregressive", {}),
]
RULES = {
    "grouped": {"labels": [token // 2 for token in range(V)]},
    "dynamic-grouped": {"size": 3, "max_gap": 0.15},
    "lantern": {"neighbours": [[(token + 1) % V] for token in range(V)], "delta": 0.2},
}


def reads(decoder: Decoder, rule: Rule, eagle: bool = False) -> float:
    """Reads a step of two sequences with guidance, the loop's own among them; not the first step, at which tables are
    copied to the device and the shape of a tree is looked at."""
    target = as_on_a_device(Cached(model("target"), classes(2), SAMPLINGS["guided"]))
    draft = None
    if decoder.needs_draft:
        small = as_on_a_device(Cached(model("draft"), classes(2), SAMPLINGS["guided"], lag=1))
        draft = EagleDraft(head(), target) if eagle else small
    steps = []
    with Operations() as operations:
        run(decoder, target, rule, Tape(3, 2), draft, lambda *_: steps.append(operations.host_reads))
    return (steps[-1] - steps[0]) / (len(steps) - 1)


@pytest.mark.parametrize(("name", "parameters"), DECODERS, ids=str)
def test_a_step_reads_once_at_most(name: str, parameters: dict[str, Any]) -> None:
    assert reads(make_decoder(name, **parameters), make_rule("speculative")) == LIMIT


@pytest.mark.parametrize("name", RULES)
def test_no_rule_reads(name: str) -> None:
    assert reads(make_decoder("sjd-pac", **PAC), make_rule(name, **RULES[name])) == LIMIT


def test_a_head_reads_nothing_either() -> None:
    assert reads(make_decoder("speculative", gamma=3), make_rule("speculative"), eagle=True) == LIMIT


@pytest.mark.parametrize(
    "planted",
    [
        lambda rows: rows[0, 0, 0].item(),
        lambda rows: bool((rows > 0).all()),
        lambda rows: rows[rows > 0.5],
        lambda rows: torch.nonzero(rows > 0.5),
        lambda rows: rows.sum().tolist(),
        lambda rows: rows.cpu(),
        lambda rows: rows.numpy(),
        lambda rows: torch.equal(rows, rows + 1),
    ],
    ids=["item", "bool", "mask", "nonzero", "tolist", "cpu", "numpy", "equal"],
)
def test_a_planted_read_is_seen(planted: object, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Cached._answer

    def reading(self: Cached, *given: object) -> torch.Tensor:
        rows = answer(self, *given)  # type: ignore[arg-type]
        planted(rows)  # type: ignore[operator]
        return rows

    monkeypatch.setattr(Cached, "_answer", reading)
    assert reads(make_decoder("sjd", window=4), make_rule("speculative")) > LIMIT


def test_what_a_mask_writes_is_no_read_unless_it_picks() -> None:
    rows, flags = torch.ones(4), torch.tensor([True, False, True, False])
    with Operations() as operations:
        torch.where(flags, rows, 0.0)
    assert operations.host_reads == 0
    with Operations() as operations:
        rows[flags] = torch.zeros(2)
    assert operations.host_reads == 1


def test_views_launch_nothing() -> None:
    rows = torch.ones(2, 3, 4)
    with Operations() as operations:
        rows[:, :2].transpose(0, 1)[None]
    assert (operations.launched, operations.host_reads) == (0, 0)
    with Operations() as operations:
        rows + 1
    assert operations.launched == 1
