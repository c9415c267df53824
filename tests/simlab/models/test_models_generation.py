"""``custom_generate=simlab_generate``: the tokens of the library's own ``generate``, or their law; refusals by name."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from simlab.decoders import Autoregressive, Decoder, Sjd, SjdAc, SjdPac, SpeculativeDecoder
from simlab.models import generation
from simlab.models.adapters import language
from simlab.models.adapters.language import Language, check_language
from simlab.models.engine import Request
from simlab.models.engine.processes import processes_for
from simlab.models.generation import simlab_generate
from simlab.models.process.clock import UNTIMED
from simlab.processes import TableProcess
from simlab.rules import Speculative
from simlab.statistics import GTest, tally
from tests.support.networks import randomised
from tests.support.refusals import refused
from theory.distances import aligned, tv
from theory.exact import Law, sequence_law

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 7  # no multiple of three: models take turns

SIZES: dict[str, Any] = {
    "vocab_size": 24,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40}
SPECIAL = {name: SIZES[name] for name in ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id")}
CONFIGS = {
    "llama": transformers.LlamaConfig(**SIZES),
    "qwen2": transformers.Qwen2Config(**SIZES),
    "gpt2": transformers.GPT2Config(**SPECIAL, **GPT2),
    "draft": transformers.LlamaConfig(**{**SIZES, "num_hidden_layers": 1}),
    "three": transformers.LlamaConfig(**{**SIZES, "vocab_size": 3}),
    "three-draft": transformers.LlamaConfig(**{**SIZES, "vocab_size": 3, "num_hidden_layers": 1}),
}
PROMPTS = torch.tensor([[0, 0, 5, 6], [7, 8, 9, 10], [0, 11, 12, 13]])
models = pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2"])


@cache
def made(name: str) -> Any:
    """A tiny model in the library's own form, with random weights that matter."""
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name], dtype=torch.float64)
    return randomised(model, seed=3, spread=0.3)


def generated(model: Any, prompts: Tensor = PROMPTS, **settings: Any) -> Any:
    return model.generate(prompts, attention_mask=(prompts != 0).long(), **settings)


# the likeliest tokens are the library's own --------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "in a dictionary": {"return_dict_in_generate": True},
    "ends": {"eos_token_id": [3, 4, 5, 6, 7]},
    "ends not before": {"eos_token_id": [3, 4, 5, 6, 7], "min_new_tokens": 5},
    "at least": {"eos_token_id": list(range(3, 24)), "min_length": 7},
    "masks": {"suppress_tokens": [5, 9], "begin_suppress_tokens": [4, 11], "forced_eos_token_id": 2},
    "bad words": {"bad_words_ids": [[5], [6], [7], [8]], "renormalize_logits": True},
    "guidance": {"guidance_scale": 1.5},
    "negative prompts": {"guidance_scale": 2.5, "negative_prompt_ids": torch.tensor([[4, 5, 6, 7, 8, 9]] * 3)},
}
DECODERS: dict[str, dict[str, Any]] = {
    "default": {},
    "draft": {"draft_model": "draft"},
    "sjd-pac": {"decoder": SjdPac(window=4, candidates=2, depth=2)},
}


@models
@pytest.mark.parametrize("which", SETTINGS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_the_likeliest_tokens_are_those_of_generate(name: str, which: str, decoder: str) -> None:
    settings = {"max_new_tokens": 9, "do_sample": False, **SETTINGS[which]}
    more = {key: made(value) if key == "draft_model" else value for key, value in DECODERS[decoder].items()}
    expected = generated(made(name), **settings)
    found = generated(made(name), **settings, custom_generate=simlab_generate, **more)
    assert type(found) is type(expected)
    found, expected = (each if isinstance(each, Tensor) else each.sequences for each in (found, expected))
    assert torch.equal(found, expected)
    assert len(found.unique()) > 4


def test_calls_of_the_target_are_saved() -> None:
    model, calls = made("llama"), []
    check_language(model)
    hook = model.model.register_forward_hook(lambda *_: calls.append(1))
    settings = {"max_new_tokens": 12, "do_sample": False, "custom_generate": simlab_generate}
    generated(model, PROMPTS[1:2], **settings, draft_model=model)  # a draft that is always right
    hook.remove()
    assert len(calls) == 2 + 3 * (1 + 4)  # two prompts, and three blocks of a call and four drafts


# sampling has the library's law ------------------------------------------------------------------------------------

V, N = 3, 3
EVERY = torch.tensor(list(product(range(V), repeat=N)))
SAMPLED: dict[str, dict[str, Any]] = {
    "plain": {},
    "processors": {"temperature": 0.7, "top_k": 2, "top_p": 0.9},
    "guidance": {"guidance_scale": 1.7, "negative_prompt_ids": torch.tensor([[1, 2, 2, 1]] * len(EVERY))},
    "ends": {"min_new_tokens": 2},
}


def settings_of(which: str) -> dict[str, Any]:
    return {"max_new_tokens": N, "do_sample": True, "top_k": 0, **SAMPLED[which]}


def library_rows(which: str) -> Tensor:
    """``[27, N, V]``: the rows that the library samples from, along every sequence there is."""
    rows = []

    def listening(model: Any, input_ids: Tensor, logits_processor: Any, *_: Any, **__: Any) -> Tensor:
        for position in range(N):
            ids = torch.cat([input_ids, EVERY[:, :position]], dim=1)
            rows.append(logits_processor(ids, model(ids).logits[:, -1]).softmax(-1))
        return input_ids

    generated(made("three"), torch.tensor([[1, 2]] * len(EVERY)), **settings_of(which), custom_generate=listening)
    return torch.stack(rows, dim=1)


def engine_rows(which: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> dict[str, Tensor]:
    """The same of the processes that decoders are given, through the cache: a window, and one behind it."""
    found = {}

    def listening(model: Any, requests: list[Request], batch: int, drafter: Any) -> list[Any]:
        target, draft = processes_for(model, drafter, requests, False, UNTIMED)
        for name, process in (("target", target), ("draft", draft)):
            start = EVERY[:, 0] * 0
            if process is not None:
                windows = process.forward(EVERY, start, 2), process.forward(EVERY, start + 2, 1)
                found[name] = torch.cat(windows, dim=1)
        return []

    with monkeypatch.context() as patch:
        patch.setattr(generation, "serve", listening)
        prompts = torch.tensor([[1, 2]] * len(EVERY))
        generated(made("three"), prompts, **settings_of(which), custom_generate=simlab_generate, **more)
    return found


def table(rows: Tensor) -> TableProcess:
    """The process that has these rows along every sequence."""
    known = {tuple(own[:k]): row[k] for own, row in zip(EVERY.tolist(), rows.tolist(), strict=True) for k in range(N)}
    return TableProcess(V, N, known.__getitem__)


def ended(law: Law) -> Law:
    """A law of sequences of which nothing is looked at behind the end token."""
    found: Law = {}
    for sequence, mass in law.items():
        cut = sequence[: sequence.index(2) + 1] if 2 in sequence else sequence
        padded = cut + (0,) * (N - len(cut))
        found[padded] = found.get(padded, 0) + mass
    return found


def library_law(which: str) -> Law:
    masses = library_rows(which).gather(2, EVERY[..., None])[..., 0].prod(dim=1)
    return ended(dict(zip(map(tuple, EVERY.tolist()), masses.tolist(), strict=True)))


def apart(law: Law, process: TableProcess, decoder: Decoder, **draft: TableProcess) -> float:
    """TV from ``law`` to what a decoder makes of a process, by all its choices."""
    return float(tv(*aligned(law, ended(sequence_law(decoder, process, Speculative(), **draft)[0]))))


@pytest.mark.exact
@pytest.mark.parametrize("which", SAMPLED)
def test_the_law_of_every_decoder_is_that_of_sampling(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumerated: all sequences, all choices of the decoder, with the rows that the cache gives."""
    rows = engine_rows(which, monkeypatch, draft_model=made("three-draft"))
    torch.testing.assert_close(rows["target"], library_rows(which), rtol=1e-9, atol=1e-9)
    law = library_law(which)
    target, draft = table(rows["target"]), table(rows["draft"])
    assert apart(law, draft, Autoregressive()) > 0.05
    for decoder in (Sjd(2), SjdAc(2), SjdPac(window=2, candidates=2, depth=1), SpeculativeDecoder(2)):
        drafted = {"draft": draft} if decoder.needs_draft else {}
        assert apart(law, target, decoder, **drafted) < 1e-9


@pytest.mark.parametrize("processor", ["TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper"])
def test_a_processor_that_is_lost_is_seen(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = generation.PROCESSORS[processor].stage
    monkeypatch.setitem(generation.PROCESSORS, processor, generation.Mapped(stage, lambda found, own: None))
    rows = engine_rows("processors", monkeypatch)
    assert (rows["target"] - library_rows("processors")).abs().max() > 0.05


SEQUENCES, FALSE_ALARMS = 5000, 1e-6


@pytest.mark.slow
@pytest.mark.statistical
def test_what_is_drawn_follows_the_law() -> None:
    """Ends, padding and seeds included; a TV of 0.08 is detected with power 0.999."""
    law = library_law("ends")
    test = GTest({outcome: float(mass) for outcome, mass in law.items() if mass > 0})
    stated = test.stated(SEQUENCES, FALSE_ALARMS)
    assert stated.detectable < 0.08
    prompts = torch.tensor([[1, 2]] * SEQUENCES)
    for more in ({"decoder": Sjd(2)}, {"draft_model": made("three-draft")}):
        drawn = generated(
            made("three"), prompts, **settings_of("ends"), custom_generate=simlab_generate, seed=5, **more
        )
        assert test.p_value(tally(drawn[:, 2:].numpy())) > FALSE_ALARMS
    other = generated(made("three-draft"), prompts, **settings_of("ends"), custom_generate=simlab_generate, seed=5)
    assert test.p_value(tally(other[:, 2:].numpy())) < FALSE_ALARMS


# seeds, batches, streams -------------------------------------------------------------------------------------------


@models
def test_a_sequence_has_the_tokens_it_has_alone(name: str) -> None:
    """With padding or without, and whatever stands beside it."""
    settings = {"max_new_tokens": 8, "do_sample": True, "custom_generate": simlab_generate, "seed": 4}
    together = generated(made(name), **settings)
    for k, tokens in enumerate(together[:, 4:].tolist()):
        alone = generated(made(name), PROMPTS[k][PROMPTS[k] != 0][None], **settings, replicates=[k])
        new = alone[0, int((PROMPTS[k] != 0).sum()) :].tolist()
        assert new == tokens[: len(new)]
        assert set(tokens[len(new) :]) <= {0}


def test_the_seed_of_torch_decides() -> None:
    settings = {"max_new_tokens": 8, "do_sample": True, "custom_generate": simlab_generate, "num_return_sequences": 2}
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(generated(made("llama"), **settings))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert drawn[0].shape[0] == 6
    assert not torch.equal(drawn[0][0], drawn[0][1])


class Streamed(transformers.generation.BaseStreamer):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def put(self, value: Tensor) -> None:
        self.heard.append(value.flatten().tolist())

    def end(self) -> None:
        self.heard.append("the end")


def test_a_stream_hears_what_that_of_generate_hears() -> None:
    settings = {"max_new_tokens": 9, "do_sample": False, "eos_token_id": [3, 4, 5, 6]}
    own, library = Streamed(), Streamed()
    generated(made("llama"), PROMPTS[1:2], **settings, streamer=library)
    generated(made("llama"), PROMPTS[1:2], **settings, custom_generate=simlab_generate, stream=own)
    assert own.heard == library.heard
    assert own.heard[-1] == "the end"


def test_a_sequence_that_finds_no_memory_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts that bring their own of no condition, too: each goes with its own when fewer go on.

    What becomes of rows that hold no numbers is asked of the engine.
    """
    prompts = {"guidance_scale": 2.5, "negative_prompt_ids": torch.tensor([[4, 5], [6, 7], [8, 9]])}
    settings = {"max_new_tokens": 6, "do_sample": True, "custom_generate": simlab_generate, "seed": 4, **prompts}
    settings |= {"suppress_tokens": [12], "decoder": Autoregressive()}  # only the last prompt has that token
    model, whole, lost = made("llama"), generated(made("llama"), **settings), dict[int, str]()
    features, embedding = Language.features, model.get_input_embeddings()

    def small(self: Language, inputs: Tensor, *rest: Any) -> Tensor:
        if len(inputs) > 2:
            raise torch.OutOfMemoryError("no more than one sequence")
        return features(self, inputs, *rest)

    monkeypatch.setattr(Language, "features", small)
    assert torch.equal(generated(model, **settings), whole)

    def smaller(self: Language, inputs: Tensor, *rest: Any) -> Tensor:
        if len(inputs) > 2 or (inputs == embedding.weight[12]).all(-1).any():
            raise torch.OutOfMemoryError("not for that prompt")
        return features(self, inputs, *rest)

    monkeypatch.setattr(Language, "features", smaller)
    with pytest.raises(RuntimeError, match="sequence 2"):
        generated(model, **settings)
    found = generated(model, **settings, failed=lost.__setitem__)
    assert list(lost) == [2]
    assert torch.equal(found[:2], whole[:2])


def test_criteria_of_one_s_own_end_a_sequence() -> None:
    def twice(input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
        """The first of the new tokens, once more."""
        return (input_ids[:, 4:-1] == input_ids[:, -1:]).any(1)

    settings = {"max_new_tokens": 12, "do_sample": False, "stopping_criteria": [twice]}
    expected = generated(made("gpt2"), PROMPTS[1:2], **settings)
    found = generated(made("gpt2"), PROMPTS[1:2], **settings, custom_generate=simlab_generate)
    assert torch.equal(found, expected)
    assert found.shape[1] < 16


class ShortOnce:
    """A criterion that ends nothing, and finds no memory when it is asked for the ``call``-th time."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
        self.left -= 1
        if self.left == 0:
            raise torch.OutOfMemoryError("no more")
        return torch.zeros(len(input_ids), dtype=torch.bool)


def test_a_criterion_that_finds_no_memory_is_asked_again() -> None:
    """What had ended before stays as it is, and no token goes by that a criterion has not seen."""
    model, prompts = made("llama"), torch.cat([PROMPTS[1:2], PROMPTS[1:2] + 3])
    settings = {"max_new_tokens": 12, "do_sample": False, "custom_generate": simlab_generate}
    ends = generated(model, prompts, **settings, eos_token_id=None)[:, 9].tolist()
    whole = generated(model, prompts, **settings, eos_token_id=ends)
    assert whole.shape[1] < 16
    for call in range(1, 13):
        found = generated(model, prompts, **settings, eos_token_id=ends, stopping_criteria=[ShortOnce(call)])
        assert torch.equal(found, whole)


# refusals ----------------------------------------------------------------------------------------------------------


REFUSED: list[tuple[dict[str, Any], tuple[str, ...]]] = [  # and what a message names
    ({"repetition_penalty": 1.2}, ("RepetitionPenaltyLogitsProcessor",)),
    ({"bad_words_ids": [[5, 6]]}, ("NoBadWordsLogitsProcessor", "one token each")),
    ({"min_p": 0.1, "do_sample": True}, ("MinPLogitsWarper",)),
    ({"num_beams": 2}, ("beam search",)),
    ({"output_scores": True, "return_dict_in_generate": True}, ("output_scores",)),
    ({"decoder": "sjd"}, ("decoder is 'sjd'", "make_decoder")),
    ({"decoder": SpeculativeDecoder(2)}, ("draft_model is None", "SpeculativeDecoder")),
    ({"decoder": Sjd(2), "draft_model": "draft"}, ("LlamaForCausalLM", "None", "Sjd")),
    ({"draft_model": "three"}, ("draft_model", "3 tokens", "24")),
    ({"replicates": [1, 2]}, ("replicates are 2", "3")),
    ({"stream": Streamed()}, ("stream", "3 sequences", "one")),
    ({"max_new_tokens": 50}, ("54", "40")),
    ({"position_ids": torch.arange(4)[None] + 2}, ("position_ids",)),
    ({"attention_mask": torch.tensor([[1, 0, 1, 1]] * 3)}, ("attention_mask", "left")),
    ({"negative_prompt_ids": torch.tensor([[4]]), "guidance_scale": 2.0}, ("1 prompts", "3")),
    (
        {"logits_processor": [transformers.TopKLogitsWarper(5)], "temperature": 0.9, "do_sample": True},
        ("TemperatureLogitsWarper",),
    ),
    *(
        ({"logits_processor": [transformers.TopPLogitsWarper(0.5, **more)], "do_sample": True, "top_k": 0}, ("TopP",))
        for more in ({"min_tokens_to_keep": 3}, {"filter_value": -1.0})
    ),
]


@pytest.mark.parametrize(("settings", "told"), REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_supported_is_refused_by_name(settings: dict[str, Any], told: tuple[str, ...]) -> None:
    given = {key: made(value) if key == "draft_model" else value for key, value in settings.items()}
    call = {"max_new_tokens": 9, "do_sample": False, "attention_mask": (PROMPTS != 0).long(), **given}
    refused(lambda: made("llama").generate(PROMPTS, **call, custom_generate=simlab_generate), *told)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_padded_negative_prompts_are_the_library_s_own_or_refused(name: str) -> None:
    """Of positions that are looked up, the library counts those of padding, too."""
    negative = torch.tensor([[0, 0, 4, 5], [6, 7, 8, 9], [0, 4, 6, 8]])
    settings = {"max_new_tokens": 9, "do_sample": False, "guidance_scale": 2.5, "negative_prompt_ids": negative}
    settings |= {"negative_prompt_attention_mask": (negative != 0).long()}
    own = partial(generated, made(name), **settings, custom_generate=simlab_generate)
    if name == "gpt2":
        refused(own, "negative_prompt_attention_mask", "absolute")
    else:
        assert torch.equal(own(), generated(made(name), **settings))


@pytest.mark.filterwarnings("ignore")
def test_processors_for_sampling_mean_nothing_to_the_likeliest_tokens() -> None:
    warpers = {"logits_processor": [transformers.TemperatureLogitsWarper(0.5)], "temperature": 0.9, "top_k": 5}
    call = {"max_new_tokens": 9, "do_sample": False, "custom_generate": simlab_generate}
    assert generated(made("llama"), **call, **warpers).shape == (3, 13)


ONE_LAYER = {**SPECIAL, "hidden_size": 16}
OTHER_MODELS = {
    "BloomForCausalLM": transformers.BloomConfig(**ONE_LAYER, n_layer=1, n_head=2),
    "CohereForCausalLM": transformers.CohereConfig(**SIZES),
    "GPTNeoForCausalLM": transformers.GPTNeoConfig(  # has a mask of its own, by slots
        **ONE_LAYER,
        num_layers=2,
        num_heads=2,
        attention_types=[[["global", "local"], 1]],
        max_position_embeddings=40,
        initializer_range=0.5,  # who is seen matters
    ),
    "MambaForCausalLM": transformers.MambaConfig(**ONE_LAYER, num_hidden_layers=1, state_size=4),
}


@pytest.mark.parametrize("name", OTHER_MODELS)
def test_models_that_are_refused_by_name(name: str) -> None:
    model = transformers.AutoModelForCausalLM.from_config(OTHER_MODELS[name]).eval()
    refused(lambda: generated(model, max_new_tokens=3, do_sample=False, custom_generate=simlab_generate), name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_model_that_caps_its_logits_is_refused_in_any_precision(dtype: torch.dtype) -> None:
    """Where rounding is large as well: what caps is seen behind one call, in which nothing is rounded otherwise."""
    config = transformers.Gemma2Config(**SIZES, head_dim=4, attn_logit_softcapping=None, final_logit_softcapping=30.0)
    model = randomised(transformers.AutoModelForCausalLM.from_config(config), seed=3, spread=0.7).to(dtype).eval()
    refused(lambda: check_language(model), "Gemma2ForCausalLM", "scales its logits")
    model.config.final_logit_softcapping = None
    check_language(model)


def test_a_window_that_slides_and_a_model_that_is_trained() -> None:
    config = transformers.MistralConfig(**SIZES, sliding_window=8)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    settings = {"do_sample": False, "custom_generate": simlab_generate}
    assert generated(model, max_new_tokens=4, **settings).shape == (3, 8)
    refused(lambda: generated(model, max_new_tokens=5, **settings), "9", "8")
    refused(lambda: generated(model.train(), max_new_tokens=4, **settings), "MistralForCausalLM", "model")


def test_a_draft_model_by_name_and_prompts_that_hold_no_tokens() -> None:
    settings = {"max_new_tokens": 3, "do_sample": False, "custom_generate": simlab_generate}
    refused(lambda: generated(made("llama"), **settings, draft_model="gpt2"), "'gpt2'", "causal language model")
    refused(lambda: generated(made("llama"), torch.tensor([[5, -1]]), **settings), "input_ids hold -1")
    refused(lambda: Language(made("llama"), 4, 3).condition(PROMPTS[:, 1:]), "3 tokens", "4")


def test_who_interrupts_the_look_at_a_model_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = transformers.AutoModelForCausalLM.from_config(OTHER_MODELS["CohereForCausalLM"]).eval()

    def interrupted(model: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(language, "_apart", interrupted)
        with pytest.raises(KeyboardInterrupt):
            check_language(model)
    refused(lambda: check_language(model), "CohereForCausalLM")


def test_keys_that_are_turned_otherwise_beyond_a_length() -> None:
    """With longrope the library turns all keys anew where a text grows beyond it, which a draft would do too early."""
    turned = {"rope_type": "longrope", "rope_theta": 100.0, "short_factor": [1.0] * 2, "long_factor": [4.0] * 2}
    sizes = {**SIZES, "sliding_window": None, "original_max_position_embeddings": 8}
    config = transformers.Phi3Config(**sizes, rope_parameters=turned)
    model = randomised(transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float64), seed=3, spread=0.3)
    settings = {"do_sample": False, "eos_token_id": None}
    for length, new in ((4, 4), (10, 9)):
        prompt = torch.arange(3, 3 + length)[None]
        expected = generated(model, prompt, max_new_tokens=new, **settings)
        assert torch.equal(
            generated(model, prompt, max_new_tokens=new, **settings, custom_generate=simlab_generate), expected
        )
    for length, new in ((4, 5), (9, 1)):
        prompt = torch.arange(3, 3 + length)[None]
        call = {"max_new_tokens": new, **settings, "custom_generate": simlab_generate}
        refused(lambda prompt=prompt, call=call: generated(model, prompt, **call), str(length + new), "8")
