"""A function of whole sequences as a process: the tokens and steps of the model it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from simlab.decoders import Run, make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.models.process.from_logits import FromLogits
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Tape
from simlab.rules import Speculative
from tests.support.cases import by_decoder, tree
from tests.support.networks import SAMPLINGS, SHAPE, V, classes, in_arrays, model, same
from tests.support.refusals import refused

pytestmark = pytest.mark.parity

BATCH = 4


def logits(tokens: Tensor, given: Tensor) -> Tensor:
    found: Tensor = model("target")(given, tokens)
    return found


def decoded(process: Any, name: str, parameters: dict[str, Any]) -> Run:
    return in_arrays(run(make_decoder(name, **parameters), process, Speculative(), Tape(3, BATCH)))


@by_decoder([("autoregressive", {}), ("sjd", {"window": 4}), ("sjd-pac", tree(4, 2, 2))])
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_tokens_and_steps_are_the_model_s(sampling: Sampling, name: str, parameters: dict[str, Any]) -> None:
    given = classes(BATCH)
    process = FromLogits(logits, SHAPE, given, model("target").null(BATCH), sampling)
    assert process.vocabulary == V
    expected = decoded(Uncached(model("target"), given, sampling), name, parameters)
    assert same(decoded(process, name, parameters), expected)
    assert process.calls == expected.steps.max()


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize(("name", "parameters"), [("sjd", {"window": 4}), ("sjd-block-tree", {"window": 4})])
def test_sequences_that_are_over_leave_with_their_conditions(
    sampling: Sampling, name: str, parameters: dict[str, Any]
) -> None:
    """Twice: once all are over, all are there again."""
    process = FromLogits(logits, SHAPE, classes(BATCH), model("target").null(BATCH), sampling)
    expected = decoded(process, name, parameters)
    assert len(set(expected.steps.tolist())) > 1
    for _ in range(2):
        found = simulate(make_decoder(name, **parameters), process, Speculative(), Tape(3, BATCH))
        assert np.array_equal(found.tokens, expected.tokens)


def test_a_function_without_a_condition() -> None:
    def most_recent(tokens: Tensor, given: None) -> Tensor:
        """The last token once more, nine times out of ten."""
        seen = torch.cat([torch.zeros(len(tokens), 1, dtype=torch.int64), tokens], dim=1)
        return torch.nn.functional.one_hot(seen, 3) * 2.89

    process = FromLogits(most_recent, (2, 8))
    found = run(make_decoder("sjd", window=3), process, Speculative(), Tape(0, 64)).tokens
    assert found.shape == (64, 16)
    assert 0.8 < float((found[:, 1:] == found[:, :-1]).double().mean()) < 0.97


def test_logits_of_another_shape_and_guidance_without_no_condition() -> None:
    refused(lambda: FromLogits(lambda t, given: logits(t, given)[:, 1:], SHAPE, classes(4)), "(4, 0, 5)", "[4, 1, V]")
    refused(lambda: FromLogits(lambda t, given: logits(t, given).argmax(-1), SHAPE, classes(4)), "torch.int64 (4, 1)")
    refused(lambda: FromLogits(logits, SHAPE, classes(2), sampling=Sampling(guidance=2.0)), "null is None")


def test_rows_that_are_no_numbers() -> None:
    process = FromLogits(lambda tokens, given: logits(tokens, given) / (tokens.shape[1] == 0), SHAPE, classes(2))
    with pytest.raises(RuntimeError, match="rows hold NaN"):
        run(make_decoder("autoregressive"), process, Speculative(), Tape(0, 2))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_sequences_share_conditions_evenly(sampling: Sampling) -> None:
    function = FromLogits(logits, SHAPE, classes(2), model("target").null(2), sampling)
    for process in (function, Uncached(model("target"), classes(2), sampling)):
        refused(
            lambda process=process: simulate(make_decoder("sjd", window=4), process, Speculative(), Tape(3, 6)),
            "of 2 conditions; expected one for each sequence",
        )
        refused(
            lambda process=process: run(make_decoder("autoregressive"), process, Speculative(), Tape(0, 3)),
            "3 sequences of 2 conditions; expected as many of each",
        )
