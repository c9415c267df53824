"""The layers of the ``transformers`` library with keys and values in the engine's slots.

The library's layers make queries, keys and values, turn them, and attend. What is added is where keys and values live
and who sees whom: an object in the place of its cache writes into the slots of a
:class:`~simlab.models.process.cache.Window`, and the window's mask goes in as an additive mask ``[B, 1, L, slots]``,
which the library hands to attention as it is.

Prompts are padded on the left. A vector of infinities is padding, which no embedding is: nobody sees it, and positions
are counted from behind it. One layer more than the model has keeps which slots are padding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from simlab.models.architectures.transformer import Memory
from simlab.models.process.cache import Window
from simlab.models.process.uncached import Masked

ATTENTION = "sdpa", "eager"  # implementations that take a mask for each pair of tokens
PADDED = torch.inf  # all numbers of an input that is padding


class Slots:
    """A window in the place of the library's cache."""

    def __init__(self, window: Window) -> None:
        self.window = window

    def update(self, key: Tensor, value: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Put a layer's keys and values where they belong; returns all it holds."""
        return self.window.write(layer, key, value)


def library_features(decoder: Any, sizes: Any, inputs: Tensor, position: Tensor, memory: Memory) -> Tensor:
    """``[B, L, dim]`` after the last norm of a library's ``decoder``.

    ``decoder``: the layers, called with vectors. ``sizes``: of the backbone; the last of its ``layers`` is that of the
    padding. ``inputs``: ``float[B, L, dim]``, ``PADDED`` where there is padding. ``position``: ``int[B, L]``, padding
    counted. ``memory``: who sees whom.
    """
    padding = inputs.isinf().all(-1)[:, None, :, None]  # [B, 1, L, 1]
    slots = None
    if isinstance(memory, Window):
        slots = Slots(memory)
        flags = padding.to(inputs.dtype).expand(-1, sizes.heads, -1, sizes.head_dim)
        hidden = slots.update(flags, flags, sizes.layers - 1)[0][:, :1, None, :, 0] > 0  # [B, 1, 1, slots]
        seen = memory.mask
    else:
        hidden = padding.transpose(2, 3)
        whole = hidden.new_ones(inputs.shape[1], inputs.shape[1]).tril()
        seen = inputs.new_zeros(()).where(memory.mask if isinstance(memory, Masked) else whole, -torch.inf)
    # padding itself sees as others do: a row of attention with nobody in it is no number
    mask = seen.masked_fill(hidden & ~padding, -torch.inf)
    place = (position - hidden.sum(-1)[:, 0]).clamp(0, sizes.prefix + sizes.length - 1)
    features: Tensor = decoder(
        inputs_embeds=inputs.where(~padding[:, 0], 0),
        position_ids=place,
        attention_mask=mask,
        past_key_values=slots,
        use_cache=False,
    ).last_hidden_state
    return features


def check_attention(config: Any) -> None:
    """Raise ``ValueError`` unless the way of attention takes a mask for each pair of tokens."""
    if config._attn_implementation not in ATTENTION:
        raise ValueError(f"attention is {config._attn_implementation!r}; expected one of {', '.join(ATTENTION)}")
