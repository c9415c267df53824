"""Decoders for ``generate`` of the ``transformers`` library: one argument, and the same tokens by fewer calls.

    model.generate(**inputs, max_new_tokens=64, custom_generate=simlab_generate, draft_model=small)

The library prepares prompts, settings, processors and criteria as for its own sampling. Processors become the rows that
are sampled from, or are refused by name; a sequence ends where the criteria say so. What comes out has the law of the
library's own sampling with these settings, and without sampling its very tokens, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from simlab.decoders import Decoder, SjdAc, SpeculativeDecoder
from simlab.decoders.run import check_made
from simlab.models.adapters.hugging_face import PADDING
from simlab.models.adapters.language import Language, check_language
from simlab.models.engine import Request, serve
from simlab.models.process.sampling import Sampling
from simlab.rules import Speculative

LOSSLESS = Speculative()
GAMMA, WINDOW = 4, 16  # drafts of a draft model, and of the target itself
PREPARED = "attention_mask", "position_ids", "past_key_values", "use_cache", "logits_to_keep"  # by the library
RETURNED = "output_scores", "output_logits", "output_attentions", "output_hidden_states"


def simlab_generate(
    model: Any,
    input_ids: Tensor,
    logits_processor: Sequence[Any],
    stopping_criteria: Sequence[Any],
    generation_config: Any,
    synced_gpus: bool = False,
    decoder: Decoder | None = None,
    draft_model: Any = None,
    seed: int | None = None,
    replicates: Sequence[int] | None = None,
    stream: Any = None,
    failed: Callable[[int, str], None] | None = None,
    **model_kwargs: Any,
) -> Any:
    """The decoding loop of ``generate``, called by the library.

    Returns prompts and new tokens ``int64[B, T + n]``, as ``generate`` returns them. Raises ``ValueError`` for a model,
    a processor, or a setting that is not supported, by its name. Raises ``RuntimeError`` for a sequence that cannot go
    on, unless ``failed`` is there to be told.

    Parameters
    ----------
    model, input_ids, logits_processor, stopping_criteria, generation_config, synced_gpus, model_kwargs
        As the library prepares them.
    decoder
        How to decode: by default speculative decoding with ``draft_model``, or speculative Jacobi decoding with
        adaptive continuation, which needs none.
    draft_model
        Another causal language model over the same vocabulary, for decoders that need one. The library keeps
        ``assistant_model`` to itself.
    seed
        Of all random numbers; by default drawn from torch's, so that ``torch.manual_seed`` decides.
    replicates
        A number for each sequence: one of the same seed and number has the same tokens, whatever stands beside it.
        0, 1, ... by default.
    stream
        A streamer, which is given the prompt and each token as soon as it is certain. The library keeps ``streamer`` to
        itself.
    failed
        Told of each sequence that cannot go on, by its number, and why: its logits were no numbers, or it found no
        memory even alone. The others go on, and it is returned as far as it came. Without it the first such is an
        error.
    """
    check_language(model)
    _check_settings(generation_config, synced_gpus, model_kwargs)
    if stream is not None and len(input_ids) > 1:
        raise ValueError(f"stream is given for {len(input_ids)} sequences; expected one")
    prompts = _prompts(input_ids, model_kwargs.get("attention_mask"))
    _check_positions(prompts, model_kwargs.get("position_ids"))
    length = generation_config.max_length - input_ids.shape[1]
    rows, free = _sampling(logits_processor, generation_config, input_ids, length, model)
    decoder = decoder or (SjdAc(WINDOW) if draft_model is None else SpeculativeDecoder(GAMMA))
    _check_draft(decoder, draft_model, model)

    drawn = int(torch.randint(1 << 62, ())) if seed is None else seed
    numbers = range(len(prompts)) if replicates is None else replicates
    if len(numbers) != len(prompts):
        raise ValueError(f"replicates are {len(numbers)}; expected {len(prompts)}, one for each sequence")
    given = prompts if free is None else _pairs(prompts, free)
    lines = [Line(prompt, stopping_criteria, stream) for prompt in input_ids]
    requests = [
        Request(own, decoder, LOSSLESS, drawn, number, rows, written=line.write)
        for own, number, line in zip(given, numbers, lines, strict=True)
    ]
    draft = None if draft_model is None else _backbone(draft_model, given.shape[-1], length)
    for result in serve(_backbone(model, given.shape[-1], length), requests, len(prompts), draft):
        if result.error is not None and failed is None:
            raise RuntimeError(f"sequence {result.index}: {result.error}")
        if result.error is not None and failed is not None:
            failed(result.index, result.error)

    if stream is not None:
        stream.end()
    sequences = _padded([line.ids for line in lines], generation_config._pad_token_tensor)
    if not generation_config.return_dict_in_generate:
        return sequences
    from transformers.generation import GenerateDecoderOnlyOutput

    return GenerateDecoderOnlyOutput(sequences=sequences)  # type: ignore[arg-type]  # a tensor of whole numbers


# what is written, and where it ends ------------------------------------------------------------------------------


class Line:
    """A sequence as it is written: criteria see each token once, and a streamer hears of it.

    ``prompt``: ``int[T]``. ``criteria``: functions ``(ids[1, T + t], None) -> bool[1]`` of the library. ``stream``:
    told the prompt and each token, or ``None``.
    """

    def __init__(self, prompt: Tensor, criteria: Sequence[Any], stream: Any = None) -> None:
        self.ids, self.before, self.criteria, self.stream = prompt, len(prompt), criteria, stream
        self.over = False
        if stream is not None:
            stream.put(prompt[None].cpu())

    def write(self, tokens: np.ndarray) -> bool:
        """All new tokens there are, ``int[n]``; returns whether the sequence is over with one of them.

        Where memory runs out a token is told again, for as long as the criteria have not been asked of it.
        """
        for token in tokens[len(self.ids) - self.before :].tolist():
            if self.over:
                break
            ids = torch.cat([self.ids, self.ids.new_tensor([token])])
            self.over = any(bool(ends(ids[None], None).all()) for ends in self.criteria)
            self.ids = ids
            if self.stream is not None:
                self.stream.put(ids[-1:].cpu())
        return self.over


def _padded(lines: Sequence[Tensor], pad: Tensor | None) -> Tensor:
    """``int[B, T + n]``: sequences, as long as the longest, and ``pad`` behind shorter ones."""
    if pad is None and len({len(line) for line in lines}) > 1:
        raise ValueError("pad_token_id is None; expected a token: sequences end at different lengths")
    return torch.nn.utils.rnn.pad_sequence(list(lines), batch_first=True, padding_value=0 if pad is None else int(pad))


# prompts and settings --------------------------------------------------------------------------------------------


def _prompts(input_ids: Tensor, visible: Tensor | None) -> Tensor:
    """``int[B, T]``: the prompts, -1 for padding."""
    if input_ids.ndim != 2 or input_ids.shape[1] == 0:
        raise ValueError(
            f"input_ids have shape {tuple(input_ids.shape)}; expected [B, T] with a token: no inputs_embeds"
        )
    shown = torch.ones_like(input_ids, dtype=torch.bool) if visible is None else visible.bool()
    if shown.shape != input_ids.shape or not bool(shown[:, -1].all()) or bool((shown[:, :-1] & ~shown[:, 1:]).any()):
        raise ValueError("attention_mask hides tokens behind others; expected padding on the left alone")
    if bool((shown & (input_ids < 0)).any()):
        raise ValueError(f"input_ids hold {int(input_ids.min())}; expected tokens from 0 on")
    return input_ids.masked_fill(~shown, PADDING)


def _check_positions(prompts: Tensor, position: Tensor | None) -> None:
    """Raise ``ValueError`` unless the tokens of each prompt stand at 0, 1, ..."""
    shown = prompts != PADDING
    if position is not None and bool((shown & (position != shown.cumsum(1) - 1)).any()):
        raise ValueError(
            "position_ids are others than 0, 1, ... from the first token that is no padding; expected those"
        )


def _backbone(model: Any, prefix: int, length: int) -> Language:
    """A model behind prompts of ``prefix`` tokens."""
    if model.training:
        raise ValueError(f"{type(model).__name__} is being trained; expected model.eval()")
    return Language(model, prefix, length)


def _pairs(prompts: Tensor, free: Tensor) -> Tensor:
    """``int[B, 2, T]``: each prompt with the one that guidance starts from."""
    prefix = max(prompts.shape[1], free.shape[1])
    wide = [functional.pad(each, (prefix - each.shape[1], 0), value=PADDING) for each in (prompts, free)]
    return torch.stack(wide, dim=1)


def _check_draft(decoder: Decoder, draft_model: Any, model: Any) -> None:
    check_made("decoder", decoder, Decoder, "make_decoder gives")
    if decoder.needs_draft != (draft_model is not None):
        given, wanted = ("None", "a model") if draft_model is None else (type(draft_model).__name__, "None")
        raise ValueError(f"draft_model is {given}; expected {wanted}: the decoder is a {type(decoder).__name__}")
    if draft_model is not None:
        check_language(draft_model)
        sizes = [each.get_output_embeddings().weight.shape[0] for each in (draft_model, model)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"draft_model is over {sizes[0]} tokens; expected those of the model, {sizes[1]}")


def _check_settings(config: Any, synced_gpus: bool, model_kwargs: dict[str, Any]) -> None:
    mode = str(config.get_generation_mode().value)
    if mode not in ("sample", "greedy_search"):
        raise ValueError(f"the settings ask for {mode.replace('_', ' ')}; expected sampling or the likeliest tokens")
    if synced_gpus:
        raise ValueError("synced_gpus is True; expected one process")
    asked = [name for name in RETURNED if getattr(config, name, None)]
    if asked:
        raise ValueError(f"{', '.join(asked)}: expected none; a call of the model has rows for many tokens")
    unknown = [name for name, value in model_kwargs.items() if name not in PREPARED and value is not None]
    if unknown:
        raise ValueError(f"model arguments {', '.join(unknown)}: expected none but {', '.join(PREPARED)}")
    known = model_kwargs.get("past_key_values")
    if known is not None and known.get_seq_length() > 0:
        raise ValueError(f"past_key_values hold {known.get_seq_length()} tokens; expected none: prompts are seen anew")


# processors ------------------------------------------------------------------------------------------------------


class Mapped(NamedTuple):
    """What a processor of the library is in a sampling."""

    stage: int  # in the order of a sampling
    apply: Callable[[dict[str, Any], Any], None]  # into the parameters of a sampling


def _guided(found: dict[str, Any], processor: Any) -> None:
    found["guidance"] = float(processor.guidance_scale)
    found["free"] = processor.unconditional_context


LIBRARY = "transformers.generation.logits_process"
MASKS = (  # processors that allow or forbid tokens by the position alone
    "MinLengthLogitsProcessor",
    "MinNewTokensLengthLogitsProcessor",
    "SuppressTokensLogitsProcessor",
    "SuppressTokensAtBeginLogitsProcessor",
    "ForcedBOSTokenLogitsProcessor",
    "ForcedEOSTokenLogitsProcessor",
    "NoBadWordsLogitsProcessor",
)
PROCESSORS = {
    "UnbatchedClassifierFreeGuidanceLogitsProcessor": Mapped(0, _guided),
    **{name: Mapped(1, lambda found, mask: found["masks"].append(mask)) for name in MASKS},
    "TemperatureLogitsWarper": Mapped(2, lambda found, own: found.update(temperature=float(own.temperature))),
    "TopKLogitsWarper": Mapped(3, lambda found, own: found.update(top_k=int(own.top_k))),
    "TopPLogitsWarper": Mapped(4, lambda found, own: found.update(top_p=float(own.top_p))),
    "LogitNormalization": Mapped(5, lambda found, own: None),  # a constant for all tokens changes no row
}


def _sampling(
    processors: Sequence[Any], config: Any, input_ids: Tensor, length: int, model: Any
) -> tuple[Sampling, Tensor | None]:
    """The rows that the library's processors make, and the prompts that guidance starts from."""
    found: dict[str, Any] = {"masks": []}
    last = -1
    for processor in processors:
        name = type(processor).__name__
        mapped = PROCESSORS.get(name)
        if (
            mapped is None
            or type(processor).__module__ != LIBRARY
            or any(len(word) > 1 for word in getattr(processor, "sequence_bias", {}))
        ):
            raise ValueError(
                f"{name} cannot be mapped; expected processors of the row and the position alone: "
                f"{', '.join(PROCESSORS)}, and bad words of one token each"
            )
        if mapped.stage < last or mapped.stage == last != 1:
            raise ValueError(f"{name} comes too late, or twice; expected this order: {', '.join(PROCESSORS)}")
        others = getattr(processor, "min_tokens_to_keep", 1), getattr(processor, "filter_value", -torch.inf)
        if others != (1, -torch.inf):
            raise ValueError(f"{name} keeps more than it says; expected min_tokens_to_keep = 1 and filter_value = -inf")
        mapped.apply(found, processor)
        last = mapped.stage
    masks, context = found.pop("masks"), found.pop("free", None)
    if masks:
        found["grammar"] = _allowed(masks, input_ids, length, model.get_output_embeddings().weight.shape[0])
    if not config.do_sample:
        found["temperature"] = 0.0
    return Sampling(**found), None if context is None else _free(context, input_ids, model)


def _allowed(masks: Sequence[Any], input_ids: Tensor, length: int, vocabulary: int) -> np.ndarray:
    """``bool[N, V]``: the tokens that all masks allow at each position, by what they make of equal scores."""
    scores, allowed = torch.zeros(1, vocabulary, device=input_ids.device), []
    for position in range(length):
        ids = input_ids.new_zeros(1, input_ids.shape[1] + position)
        forbidden = [mask(ids, scores.clone()) == -torch.inf for mask in masks]
        allowed.append(~torch.stack(forbidden).any(0)[0])
    return torch.stack(allowed).cpu().numpy()


def _free(context: dict[str, Any], input_ids: Tensor, model: Any) -> Tensor:
    """``int[B, T]``: the negative prompts, or the last token of each prompt, from which guidance starts."""
    ids = input_ids[:, -1:] if context["input_ids"] is None else context["input_ids"]
    if len(ids) != len(input_ids):
        raise ValueError(f"negative_prompt_ids are {len(ids)} prompts; expected {len(input_ids)}, one for each")
    prompts = _prompts(ids, context["attention_mask"])
    if bool((prompts == PADDING).any()) and not _positions_are_relative(model):
        raise ValueError(
            "negative_prompt_attention_mask hides tokens; expected none for a model of absolute positions, which the "
            "library counts from the padding on"
        )
    return prompts


@torch.no_grad()
def _positions_are_relative(model: Any) -> bool:
    """Whether the rows of a text are the same wherever it begins."""
    ids = torch.arange(2, device=model.device)[None]
    one, other = (model(input_ids=ids, position_ids=ids + shift, use_cache=False).logits.float() for shift in (0, 1))
    rounding = max(torch.finfo(dtype).eps for dtype in (model.dtype, torch.float32)) ** 0.5
    return torch.allclose(one, other, rtol=rounding, atol=rounding)
