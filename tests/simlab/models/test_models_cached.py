"""The engine is the reference form: with a cache or without, the same tokens in the same steps.

Tiny transformers in float64, on the tape: every decoder, every rule, with guidance and without, in a batch whose
sequences advance at different speeds, and alone. Then bugs caches are known for are planted, and none gets by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from simlab.decoders import DynamicTree, Run, make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.decoders.draft_tree import DraftTree
from simlab.models.architectures.eagle import EagleDraft, Head
from simlab.models.architectures.transformer import Transformer
from simlab.models.process.branches import Branches
from simlab.models.process.cached import NOT_HELD, UNKNOWN, Cached, Fed
from simlab.models.process.cached_compiled import CachedOnHost
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.processes import Ending
from simlab.randomness import Tape
from simlab.rules import RULES, Speculative, make_rule
from tests.support.cases import CANDIDATE_TREES, DECODERS, RENEWED, by_decoder, others, tables, tree
from tests.support.networks import (
    CLASSES,
    SAMPLINGS,
    Broken,
    EagleUncached,
    V,
    classes,
    config,
    decoded,
    head,
    in_arrays,
    model,
    same,
)

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 11  # odd: samplings take turns

SEED, REPLICATES = 5, 8
forms = pytest.mark.parametrize("form", [Cached, CachedOnHost])
sampled = pytest.mark.parametrize("sampling", SAMPLINGS)
# all but the shortest windows, in which there is little to get wrong
LONGER = [(name, p) for name, p in DECODERS if max(p.get("window", 9), p.get("gamma", 0)) > 2]


@sampled
@by_decoder([*CANDIDATE_TREES, *LONGER, *RENEWED])
def test_every_decoder(name: str, parameters: dict[str, Any], sampling: str) -> None:
    """Compiled or not; drafts are those of the small model and, where they are chains, of the target's head too."""
    decoder, tape = make_decoder(name, **parameters), Tape(SEED, REPLICATES)
    chains = decoder.needs_draft and not isinstance(decoder, DraftTree | DynamicTree)
    for eagle in (False, True) if chains else (False,):
        how: dict[str, Any] = {"sampling": SAMPLINGS[sampling], "eagle": eagle}
        without = decoded(decoder, Uncached, tape, **how)
        assert without.tokens.shape == (REPLICATES, 9)
        for form, decode in ((Cached, run), (CachedOnHost, run), (Cached, simulate)):
            assert same(decoded(decoder, form, tape, decode=decode, **how), without)
        # and one of them alone
        alone = decoded(decoder, Cached, Tape(SEED, [4]), **how)
        assert same(alone, Run(without.tokens[[4]], without.steps[[4]]))


# rows without zeros: sums that are 1 but for rounding would be ties at the bounds of rules
@pytest.mark.parametrize(("rule", "setting"), others(RULES, [], tables(V)), ids=str)
@by_decoder([("speculative", {"gamma": 2}), ("sjd-pac", tree(3, 2, 2, "full", relabel="law"))])
def test_every_rule(name: str, parameters: dict[str, Any], rule: str, setting: dict[str, Any]) -> None:
    decoder, made = make_decoder(name, **parameters), make_rule(rule, **setting)
    sampling, tape = Sampling(guidance=2.0, temperature=0.8), Tape(SEED, REPLICATES)
    assert same(*(decoded(decoder, form, tape, sampling, made) for form in (Cached, Uncached)))


FEW = {
    "one token": Sampling(top_k=1),
    "two tokens": Sampling(top_k=2),
    "little mass": Sampling(guidance=2.0, top_p=0.3),
    "cold": Sampling(temperature=0),
}


@pytest.mark.parametrize("sampling", FEW)
@by_decoder(
    [
        ("sjd-pd", tree(3, 4, 2)),
        ("sjd-pac", tree(3, 4, 3, "full")),
        ("sjd-pac", tree(4, 7, 2, initial="repeat-left")),  # more candidates than there are tokens
        ("sjd-pac", tree(3, 3, 2, "full", shared=True)),
    ]
)
def test_trees_over_rows_with_fewer_tokens_than_candidates(
    name: str, parameters: dict[str, Any], sampling: str
) -> None:
    """There a node has no token of its own, and may repeat that of the chain; likely tokens are each 0 in turn."""
    decoder, tape = make_decoder(name, **parameters), Tape(SEED, REPLICATES)
    without, *others = (decoded(decoder, form, tape, FEW[sampling]) for form in (Uncached, Cached, CachedOnHost))
    assert all(same(other, without) for other in others)


@pytest.mark.parametrize("end", [0, 3])
@by_decoder([("speculative", {"gamma": 3}), ("sjd", {"window": 4}), ("sjd-pac", tree(3, 3, 2, "full"))])
def test_sequences_that_end_early(name: str, parameters: dict[str, Any], end: int) -> None:
    """The end may fall anywhere in a block, and sequences that are over stay in the batch."""
    decoder, given = make_decoder(name, **parameters), torch.arange(REPLICATES) % CLASSES
    found = []
    for form, decode, lag in ((Cached, simulate, {"lag": 1}), (Cached, run, {"lag": 1}), (Uncached, run, {})):
        draft = Ending(form(model("draft"), given, **lag), end) if decoder.needs_draft else None  # type: ignore[arg-type]
        target = Ending(form(model("target"), given), end)
        found.append(in_arrays(decode(decoder, target, Speculative(), Tape(SEED, REPLICATES), draft)))
    assert all(same(one, found[-1]) for one in found[:-1])
    assert (found[0].tokens == end).any()


def test_a_head_on_a_target_that_has_been_used() -> None:
    given, tape, rule = classes(3), Tape(SEED, 3), Speculative()
    found = []
    for form, drafting in ((Cached, EagleDraft), (Uncached, EagleUncached)):
        target = form(model("target"), given)
        run(make_decoder("autoregressive"), target, rule, tape)
        found.append(run(make_decoder("speculative", gamma=2), target, rule, tape, drafting(head(), target)))
    assert torch.equal(found[0].tokens, found[1].tokens)
    assert torch.equal(found[0].steps, found[1].steps)


@forms
@sampled
def test_any_tree_at_any_place(sampling: str, form: type[Cached]) -> None:
    """Rows of a tree that no decoder makes, behind prefixes of different lengths, node by node; then its deepest path
    is committed, and the rows behind it are right as well."""
    paths = torch.tensor([[0, -1, -1], [1, -1, -1], [0, 2, -1], [1, 3, -1], [1, 3, 4], [1, 5, -1], [0, 6, -1]])
    given, tokens = torch.tensor([0, 1, 2]), torch.randint(V, (3, 12), generator=torch.Generator().manual_seed(3))
    nodes = torch.randint(V, (3, 7), generator=torch.Generator().manual_seed(4))
    start = torch.tensor([0, 2, 5])
    both = [each(model("target"), given, SAMPLINGS[sampling]) for each in (form, Uncached)]
    for length in range(6):  # all have seen their prefix
        rows = [each.forward(tokens, start.clamp(max=length), 1) for each in both]
        torch.testing.assert_close(*rows, rtol=1e-10, atol=1e-12)
    rows = [each.forward_tree(tokens, start, nodes, paths) for each in both]
    torch.testing.assert_close(*rows, rtol=1e-10, atol=1e-12)

    for path in ([1, 3, 4], [0, 6], [0, 2], [1]):
        copy = tokens.clone()
        for depth, node in enumerate(path):
            copy[torch.arange(3), start + depth] = nodes[:, node]
        one = form(model("target"), given, SAMPLINGS[sampling])
        for length in range(6):
            one.forward(tokens, start.clamp(max=length), 1)
        one.forward_tree(tokens, start, nodes, paths)
        after = start + len(path) + 1
        rows = [each.forward(copy, after, 2) for each in (one, both[1])]
        torch.testing.assert_close(*rows, rtol=1e-10, atol=1e-12)


@forms
def test_a_cache_answers_only_for_what_it_holds(form: type[Cached]) -> None:
    given, tokens = torch.tensor([0, 1]), torch.zeros((2, 10), dtype=torch.int64)
    process = form(model("target"), given)
    process.forward(tokens, torch.tensor([0, 0]), 4)
    assert process.faults() == {}
    process.forward(tokens, torch.tensor([2, 6]), 1)
    assert process.faults() == {1: NOT_HELD}
    process = form(model("target"), given)
    process.forward(tokens, torch.tensor([0, 0]), 4)
    other = tokens.clone()
    other[1, 0] = 1
    process.forward(other, torch.tensor([2, 3]), 1)
    assert process.faults() == {1: NOT_HELD}
    assert process.over(other, torch.tensor([2, 3])).tolist() == [False, True]
    with pytest.raises(ValueError, match="of 1 sequences; expected 2"):
        process.forward(tokens[:1], torch.tensor([0]), 1)


@forms
def test_who_enters_is_guided_as_those_were_that_have_left(form: type[Cached]) -> None:
    process = form(model("target"), classes(2))
    for left in [0], []:
        process.keep(left)
        with pytest.raises(ValueError, match="some samplings are guided and others not"):
            process.enter(classes(1), [Sampling(guidance=2.0)])
        assert process.batch == len(left)


@forms
def test_rows_with_nan_are_told(form: type[Cached]) -> None:
    process = form(Broken(nan=0), torch.tensor([0]))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"sequence 0.*NaN"):
        run(make_decoder("sjd", window=3), process, Speculative(), Tape(0, 1))


@pytest.mark.parametrize("made", [Transformer, Head])
def test_frequencies_of_positions_keep_their_precision(made: Any) -> None:
    network = made(config("target"))
    exact = network.frequencies.clone()
    assert network.to(torch.bfloat16).norm.weight.dtype == torch.bfloat16
    assert torch.equal(network.frequencies, exact)
    assert network.double().frequencies.dtype == torch.float32


# bugs ----------------------------------------------------------------------------------------------------------


class Unchecked(Cached):
    """Without the check that would tell of most bugs at once: so they have to show in what is decoded."""

    def over(self, tokens: Tensor, length: Tensor) -> Tensor:
        return length >= self.length

    def faults(self) -> dict[int, str]:
        return {}


class RejectedKept(Unchecked):
    """The entry of a rejected token is kept: the token drawn instead of it is not seen."""

    def _chain(self, tokens: Tensor, start: Tensor, count: int) -> Fed:
        fed = super()._chain(tokens, start, count)
        held = self._known[: self.batch].gather(1, fed.place)
        return fed._replace(tokens=fed.tokens.where((held == UNKNOWN) | (fed.position < 0), held))


class PositionByCount(Unchecked):
    """Positions count what was fed, rejected tokens too, as if all sequences advanced alike."""

    def _chain(self, tokens: Tensor, start: Tensor, count: int) -> Fed:
        fed = super()._chain(tokens, start, count)
        together = fed.position - fed.position[:, :1] + fed.position[:, :1].max()
        return fed._replace(position=together.where(fed.position >= 0, fed.position))


class NothingSwaps(Unchecked):
    """The accepted path of a tree stays where it was."""

    def _settle(self, tokens: Tensor, tree: Any) -> None:
        pass


class SiblingsSeen(Unchecked):
    """Every node of a tree sees every other."""

    def _sees(self, fed: Fed, slot: Tensor, live: int, shape: Branches | None = None) -> Tensor:
        mask = super()._sees(fed, slot, live, shape)
        if shape is not None:
            own = mask[:, -len(shape.depths.values) :]
            own.copy_(own.amax(dim=1, keepdim=True).expand_as(own))
        return mask


BUGS: list[tuple[type[Cached], str, dict[str, Any]]] = [
    (RejectedKept, "sjd", {"window": 3}),
    (RejectedKept, "speculative", {"gamma": 3}),
    (PositionByCount, "sjd", {"window": 3}),
    (NothingSwaps, "sjd-pd", tree(3, 3, 2)),
    (SiblingsSeen, "sjd-pac", tree(3, 2, 2)),
]


@pytest.mark.parametrize(("bug", "name", "parameters"), BUGS, ids=[f"{bug.__name__}-{name}" for bug, name, _ in BUGS])
def test_a_bug_in_the_cache_is_caught(bug: type[Cached], name: str, parameters: dict[str, Any]) -> None:
    decoder, tape = make_decoder(name, **parameters), Tape(SEED, REPLICATES)
    reference = decoded(decoder, Uncached, tape)
    assert same(decoded(decoder, Unchecked, tape), reference)
    assert not same(decoded(decoder, bug, tape), reference)


class FirstOfWindow(Sampling):
    """What depends on the position is looked up for the first position of a window, for all of it."""

    def rows(self, logits: Tensor, position: Tensor) -> Tensor:
        return super().rows(logits, position[:, :1].expand_as(position))


@pytest.mark.parametrize("what", ["grammar", "guidance"])
def test_what_depends_on_the_position_is_looked_up_for_each(what: str) -> None:
    rng = np.random.default_rng(2)
    table = {"grammar": rng.random((9, V)) < 0.6, "guidance": tuple(rng.uniform(0, 3, 9).tolist())}[what]
    if what == "grammar":
        table[:, 0] = True
    decoder, tape = make_decoder("sjd", window=4), Tape(SEED, REPLICATES)
    right = decoded(decoder, Uncached, tape, Sampling(**{what: table}))
    assert same(decoded(decoder, Cached, tape, Sampling(**{what: table})), right)
    assert not same(decoded(decoder, Cached, tape, FirstOfWindow(**{what: table})), right)
    if what == "grammar":
        assert np.take_along_axis(table, right.tokens.T, axis=1).all()
