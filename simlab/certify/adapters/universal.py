"""transformers' ``generate`` with an assistant that has another tokenizer.

The assistant knows every token of the target and one more. Its tokenizer is free in which order ``get_vocab`` lists
them, and those of today list them in no particular order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, model_class
from simlab.certify.adapters.torch_random import drawing
from simlab.certify.adapters.transformers import drafting, generated, sampled, settings

Order = Callable[[int], Sequence[int]]

FOREIGN = 1  # the token of the assistant that the target has not
MASS = 0.1  # of the foreign token


def swapped(size: int) -> list[int]:
    """The first token of the target second, the foreign one last."""
    return [2, 0, *range(3, size), FOREIGN]


def by_number(size: int) -> list[int]:
    """As they are numbered."""
    return list(range(size))


def generate(order: Order = swapped) -> Any:
    """``generate`` with such an assistant, whose tokenizer lists its tokens in this ``order``."""

    @cache
    def parts(vocabulary: int) -> tuple[Any, Any, Any, Any]:
        words = [f"w{token}" for token in range(vocabulary)]
        known = [*words[:FOREIGN], "foreign", *words[FOREIGN:]]
        target, assistant = model_class()(vocabulary), _foreign_class()(vocabulary + 1)
        target.generation_config, assistant.generation_config = settings(), drafting()
        listed = [known[token] for token in order(vocabulary + 1)]
        made = target, assistant, _tokenizer(words, words), _tokenizer(known, listed)
        run(made, lambda prefix: np.full(vocabulary, 1 / vocabulary), 2, None)  # prunes the head, which draws weights
        return made

    def run(made: tuple[Any, Any, Any, Any], model: Model, length: int, eos: int | None) -> list[int]:
        target, assistant, tokenizer, foreign = made
        target.pmf, assistant.pmf = model, _with_foreign(drafted(model))
        both = {"assistant_model": assistant, "tokenizer": tokenizer, "assistant_tokenizer": foreign}
        return generated(target, length, eos, **both, **sampled())

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        made = parts(len(model(())))
        with drawing(rng):
            return run(made, model, length, eos)

    return decode


def _with_foreign(draft: Model) -> Model:
    """The draft over the assistant's tokens; after a foreign one the prefix ends."""

    def foreign(prefix: tuple[int, ...]) -> Array:
        known = prefix[: prefix.index(FOREIGN)] if FOREIGN in prefix else prefix
        q = draft(tuple(token - (token > FOREIGN) for token in known))
        return np.insert((1 - MASS) * q, FOREIGN, MASS)

    return foreign


def _tokenizer(words: Sequence[str], listed: Sequence[str]) -> Any:
    """One word a token; ``get_vocab`` lists them as ``listed`` says."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    numbers = {word: number for number, word in enumerate(words)}
    raw = Tokenizer(models.WordLevel(numbers, unk_token=words[0]))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=raw)
    tokenizer.get_vocab = lambda: {word: numbers[word] for word in listed}
    return tokenizer


@cache
def _foreign_class() -> Any:
    """A model with the embeddings that ``generate`` replaces to leave the assistant its common tokens only."""
    import torch

    class ForeignModel(model_class()):  # type: ignore[misc]
        """Its embedding of a token is the token; its head passes logits on."""

        def __init__(self, vocabulary: int) -> None:
            super().__init__(vocabulary)
            self.embedding: Any = torch.nn.Embedding(vocabulary, 1)
            self.unembedding: Any = torch.nn.Linear(vocabulary, vocabulary, bias=False)
            with torch.no_grad():
                self.embedding.weight.copy_(torch.arange(vocabulary)[:, None])
                self.unembedding.weight.copy_(torch.eye(vocabulary))

        def get_input_embeddings(self) -> Any:
            return self.embedding

        def set_input_embeddings(self, value: Any) -> None:
            self.embedding = value

        def get_output_embeddings(self) -> Any:
            return self.unembedding

        def set_output_embeddings(self, new_embeddings: Any) -> None:
            self.unembedding = new_embeddings

        def tokens(self, input_ids: Any) -> Any:
            return self.embedding(input_ids)[..., 0]

        def head(self, logits: Any) -> Any:
            return self.unembedding(logits.clamp(min=-60))  # a sum with nothing times infinity would be no number

    return ForeignModel
