"""Causal language models with given next-token pmfs, for generation loops of other packages.

Loops that are certified get the target as ``model(prefix) -> pmf[V]``; the draft is made from it here. Token 0 stands
before every sequence, as a beginning that no prefix contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from simlab.arrays import Array

Model = Callable[[tuple[int, ...]], Array]

MOVED = 0.6  # how much of p the draft has on the token after the one p has it on


def drafted(model: Model) -> Model:
    """A draft for ``model``: p, with most of its mass moved on by one token.

    It depends on the prefix as p does, and where p has zeros it mostly has none, and the other way round.
    """

    def draft(prefix: tuple[int, ...]) -> Array:
        p = np.asarray(model(prefix))
        return np.asarray((1 - MOVED) * p + MOVED * np.roll(p, 1))

    return draft


def logits(rows: Any) -> Any:
    """The logarithms of rows, float32 as packages have them."""
    import torch

    return torch.from_numpy(np.asarray(rows)).log().float()


def after_each(model: Model, tokens: Sequence[int]) -> list[Array]:
    """The rows of a model after each of these tokens, the first of which stands before every sequence."""
    return [model(tuple(tokens[1:end])) for end in range(1, len(tokens) + 1)]


def ended(tokens: list[int], eos: int | None) -> list[int]:
    """Tokens up to the first ``eos``, for loops that go on or pad after it."""
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


@cache
def model_class() -> Any:
    """The class of models that ``generate`` of transformers takes; made when transformers is there."""
    import torch
    from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
    from transformers.cache_utils import DynamicCache
    from transformers.modeling_outputs import CausalLMOutputWithPast

    class TableConfig(PretrainedConfig):
        model_type = "table"

        def __init__(self, vocab_size: int = 2, **options: Any) -> None:
            self.vocab_size = vocab_size
            self.num_hidden_layers = self.num_attention_heads = self.hidden_size = 1
            super().__init__(**options)

    class TableModel(PreTrainedModel, GenerationMixin):
        """Logits ``scale * log pmf(prefix)``, float32. The tokens travel as the keys of an ordinary cache."""

        config_class = TableConfig
        main_input_name = "input_ids"

        def __init__(self, vocabulary: int, scale: float = 1.0) -> None:
            super().__init__(TableConfig(vocabulary))
            self.pmf: Model | None = None
            self.scale = scale
            self.placed = torch.nn.Parameter(torch.zeros(1), requires_grad=False)  # says on which device it is
            self.post_init()
            self.eval()

        def _init_weights(self, module: Any) -> None:
            pass

        def tokens(self, input_ids: torch.Tensor) -> torch.Tensor:
            return input_ids

        def head(self, logits: torch.Tensor) -> torch.Tensor:
            return logits

        def forward(
            self,
            input_ids: Any = None,
            past_key_values: Any = None,
            attention_mask: Any = None,
            position_ids: Any = None,
            use_cache: bool = True,
            logits_to_keep: int = 0,
            **options: Any,
        ) -> Any:
            keys = self.tokens(input_ids).to(torch.float32)[:, None, :, None]
            cache = DynamicCache(config=self.config) if past_key_values is None else past_key_values
            seen = cache.update(keys, keys, 0)[0][:, 0, :, 0].long().tolist()
            count = min(input_ids.shape[1], logits_to_keep or input_ids.shape[1])
            rows = [[self.row(tokens[1 : len(tokens) - back]) for back in reversed(range(count))] for tokens in seen]
            pmfs = torch.from_numpy(np.array(rows))
            return CausalLMOutputWithPast(logits=self.head(self.scale * pmfs.log().float()), past_key_values=cache)

        def row(self, prefix: list[int]) -> Array:
            assert self.pmf is not None, "a pmf is set before it is used"
            return self.pmf(tuple(prefix))

    return TableModel
