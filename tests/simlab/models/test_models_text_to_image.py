"""Text to image by models of others, from small files in the layouts they were published in: the ids that a prompt
becomes, the settings of their own code, and tokens and pixels as a decoder makes them of these by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers.convert_slow_tokenizer import bytes_to_unicode

from simlab.decoders import make_decoder, run
from simlab.models.adapters import grammars
from simlab.models.adapters import llamagen as llamagen_files
from simlab.models.adapters.emu3 import SPECIAL
from simlab.models.checkpoints import CheckpointError
from simlab.models.process.cached import Cached
from simlab.models.text_to_image import KINDS, Preset, draw, language, llamagen, load, text_to_image
from simlab.models.text_to_image.words import PIECES, read_byte_pairs
from simlab.randomness import Tape
from simlab.rules import Speculative
from tests.support import llamagen as small
from tests.support.published import (
    BYTES,
    CODES,
    PAIRS,
    TEXT,
    VISUAL,
    emu3_files,
    emu3_tokenizer_files,
    lumina_files,
    meta_files,
    vqgan_files,
)
from tests.support.refusals import refused

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 3
PROMPTS, SEEDS = ["a dog", "the red cat"], [3, 4]
FEW = Preset(2.0, 0.9, 5)  # what small vocabularies leave of the presets
AR, SJD = make_decoder("autoregressive"), make_decoder("sjd-ac", window=4)


class Case(NamedTuple):
    """A folder of a model, and what is to come of it."""

    size: Any
    sides: tuple[int, int]  # pixels of the images
    tokens: int
    preset: Preset


CASES = {
    "lumina": Case((32, 64), (4, 8), 2 * 5 + 2, Preset(3.0, top_k=2000)),
    "anole": Case(None, (4, 4), 5, Preset(3.0, 0.7, top_p=0.9)),
    "emu3": Case((16, 24), (4, 6), 2 * 4 + 3, Preset(3.0, top_k=2048)),
    "llamagen-t2i": Case((48, 64), (12, 16), 12, Preset(7.5, top_k=1000)),
}
kinds = pytest.mark.parametrize("kind", CASES)


def t5_files(home: Path) -> None:
    """A small T5 in the library's own format, and a tokenizer of letters."""
    config = transformers.T5Config(
        vocab_size=64, d_model=small.TEXT_DIM, d_kv=3, d_ff=8, num_layers=1, num_heads=2, feed_forward_proj="gated-gelu"
    )
    torch.manual_seed(0)
    transformers.T5EncoderModel(config).save_pretrained(home)
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((letter, -2.0) for letter in TEXT)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    fast.save_pretrained(home)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("published")
    lumina_files(home / "lumina", 1)
    vqgan_files(home / "lumina" / "chameleon" / "tokenizer" / "vqgan.ckpt")
    meta_files(home / "anole")
    vqgan_files(home / "anole" / "tokenizer" / "vqgan.ckpt")
    emu3_files(home / "emu3")
    emu3_tokenizer_files(home / "emu3" / "Emu3-VisionTokenizer")
    t5_files(home / "llamagen-t2i" / "t5-ckpt" / "flan-t5-xl")
    small.saved(small.gpt_weights("text"), home / "llamagen-t2i" / "t2i_XL_stage1_64.pt")
    small.saved(small.vq_weights(), home / "llamagen-t2i" / "vq_ds16_t2i.pt")
    return {kind: home / kind for kind in CASES}


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no file says: the one size of Anole's images, the heads of a LlamaGen, and what its tokenizer is."""
    monkeypatch.setattr(language, "ANOLE_SIDE", 2)
    monkeypatch.setitem(llamagen_files.MODELS, "small", llamagen_files.Size(small.LAYERS, small.DIM, small.HEADS))
    monkeypatch.setattr(llamagen, "IMAGES", small.TOKENIZER)


# prompts --------------------------------------------------------------------------------------------------------


def letters(text: str) -> list[int]:
    return [TEXT[letter] for letter in text if letter in TEXT]


def joined(text: str) -> list[int]:
    """Ids of the small Emu3: bytes, but for the pairs it has."""
    found, at = [], 0
    raw = text.encode()
    while at < len(raw):
        length = 3 if raw[at : at + 3] == b"the" else 2 if raw[at : at + 2] in (b"th", b"he", b" a") else 1
        found.append(BYTES.index(raw[at : at + length]))
        at += length
    return found


def lumina_ids(prompt: str) -> list[int]:
    text = f"Generate an image of 64x32 according to the following prompt:\n{prompt}"
    return [0, *letters(text), 51, 13, 52, 53]


def anole_ids(prompt: str) -> list[int]:
    return [0, *letters(prompt), 51, 13]


def emu3_ids(prompt: str) -> list[int]:
    text = prompt + " masterpiece, film grained, best quality."
    return [PAIRS + 206, *joined(text), VISUAL - 2, *joined("2*3"), VISUAL - 3]


@pytest.mark.parametrize(("kind", "ids"), [("lumina", lumina_ids), ("anole", anole_ids), ("emu3", emu3_ids)])
def test_prompts_as_their_own_code_writes_them(
    folders: dict[str, Path], kind: str, ids: Callable[[str], list[int]]
) -> None:
    model = load(kind, folders[kind], CASES[kind].size)
    prepared = model.prepare(PROMPTS)
    for given, prompt in zip(prepared.given.tolist(), PROMPTS, strict=True):
        assert [id for id in given if id >= 0] == ids(prompt)
    null = {
        "lumina": (13, 52, 53),
        "anole": (0, 13),
        "emu3": (PAIRS + 206, *joined(language.EMU3_BAD), VISUAL - 2, *joined("2*3"), VISUAL - 3),
    }
    assert tuple(prepared.model.unconditional) == null[kind]  # type: ignore[attr-defined]


def test_texts_of_llamagen_are_padded_on_the_left(folders: dict[str, Path]) -> None:
    model = load("llamagen-t2i", folders["llamagen-t2i"], CASES["llamagen-t2i"].size)
    prepared = model.prepare([" A", "cat and dog"])  # five letters and no more are seen
    assert prepared.visible is not None
    assert prepared.visible.sum(-1).tolist() == [1, small.TEXT_TOKENS]
    assert (prepared.given[0, :-1] == 0).all()
    encoder = model.encoder  # type: ignore[attr-defined]
    vectors = encoder(input_ids=torch.tensor([[3]])).last_hidden_state[0]
    torch.testing.assert_close(prepared.given[0, -1:], vectors)


def test_byte_pairs_are_joined_as_by_the_library_s_own() -> None:
    """The small Emu3's pairs as a byte-level BPE of ``tokenizers``."""
    of_byte = bytes_to_unicode()
    written = ["".join(of_byte[byte] for byte in pair) for pair in BYTES]
    merges = [("t", "h"), ("h", "e"), ("th", "e"), (of_byte[32], "a")]
    other = Tokenizer(models.BPE({name: rank for rank, name in enumerate(written)}, merges))
    other.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [pre_tokenizers.Split(Regex(PIECES), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    words = read_byte_pairs({pair: rank for rank, pair in enumerate(BYTES)})
    for text in ("the thing", "a 12 é  \n\n x't", "THE, heath a", "日本 a the"):
        assert words(text) == other.encode(text).ids
    assert words("the") == [258]
    apart = {pair: rank for rank, pair in enumerate([*BYTES[:256], b"ab", b"abcd"])}
    assert read_byte_pairs(apart)("abcd") == [257]  # though no pair of its parts has a rank
    refused(lambda: read_byte_pairs({b"a": 0})("ab"), "tokenizer")


# images ----------------------------------------------------------------------------------------------------------


@kinds
def test_settings_of_their_own_code(folders: dict[str, Path], kind: str) -> None:
    case, model = CASES[kind], load(kind, folders[kind], CASES[kind].size)
    assert model.preset == case.preset
    sampling = model.sampling(model.preset)
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == case.preset[1:]
    assert max(np.atleast_1d(sampling.guidance)) == case.preset.guidance
    sampling.check(case.tokens, model.prepare(PROMPTS).model.config.vocabulary)
    assert (sampling.grammar is None) == (kind == "llamagen-t2i")


@kinds
def test_images_are_those_of_a_decoder_over_prompts_and_codes(folders: dict[str, Path], kind: str) -> None:
    case, model = CASES[kind], load(kind, folders[kind], CASES[kind].size)
    drawn = text_to_image(kind, folders[kind], PROMPTS, AR, seeds=SEEDS, size=case.size, preset=FEW, batch=2)
    assert [each.prompt for each in drawn] == [0, 1]
    prepared = model.prepare(PROMPTS)
    for row, (each, seed) in enumerate(zip(drawn, SEEDS, strict=True)):
        given = prepared.given[row : row + 1]
        visible = None if prepared.visible is None else prepared.visible[row : row + 1]
        process = Cached(prepared.model, given, model.sampling(FEW), visible=visible)
        done = run(AR, process, Speculative(), Tape(seed, 1))
        assert each.error is None
        assert np.array_equal(each.tokens, done.tokens[0].numpy())
        assert each.steps == len(each.tokens) == case.tokens
        assert each.image.shape == (3, *case.sides)
        torch.testing.assert_close(each.image, by_hand(model, each.tokens), rtol=1e-5, atol=1e-5)
    assert (drawn[0].image - drawn[1].image).abs().max() > 0.01


def by_hand(model: Any, tokens: np.ndarray) -> Tensor:
    """Pixels of the entries that names stand for; ends of lines and of the image left out."""
    if not hasattr(model, "layout"):
        return model.images.decode(torch.from_numpy(tokens)[None], (3, 4))[0]
    kept = [CODES[token] for token in tokens.tolist() if token < len(CODES)]
    return model.images.decode(torch.tensor([kept]), (model.layout.rows, model.layout.columns))[0]


@kinds
def test_a_prompt_with_its_seed_is_one_image(folders: dict[str, Path], kind: str) -> None:
    model = load(kind, folders[kind], CASES[kind].size)
    both = [*draw(model, PROMPTS, SJD, Speculative(), SEEDS, FEW, batch=2)]
    alone = [*draw(model, PROMPTS[1:], SJD, Speculative(), SEEDS[1:], FEW)]
    of_one = {each.prompt: each for each in both}[1]
    assert np.array_equal(of_one.tokens, alone[0].tokens)
    assert of_one.steps <= CASES[kind].tokens
    assert [each.error for each in draw(model, PROMPTS, SJD, Speculative(), 3, cancelled=lambda index: True)]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@kinds
def test_images_on_a_device(folders: dict[str, Path], kind: str) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        drawn = text_to_image(
            kind, folders[kind], PROMPTS, SJD, size=CASES[kind].size, preset=FEW, batch=2, dtype=dtype, device="cuda"
        )
        assert [each.error for each in drawn] == [None, None]
        assert all(each.image.shape == (3, *CASES[kind].sides) and each.image.isfinite().all() for each in drawn)


@pytest.mark.slow
def test_half_precision_on_the_cpu(folders: dict[str, Path]) -> None:
    """Prompts, models and images go together in any precision."""
    for kind in ("emu3", "llamagen-t2i"):
        drawn = text_to_image(kind, folders[kind], PROMPTS, SJD, size=CASES[kind].size, dtype=torch.bfloat16, batch=2)
        assert [each.error for each in drawn] == [None, None]
        assert all(each.image.dtype == torch.float32 and each.image.isfinite().all() for each in drawn)


def test_tables_are_over_tokens(folders: dict[str, Path]) -> None:
    model = load("lumina", folders["lumina"], CASES["lumina"].size)
    raw = model.images.codebook.double().numpy()  # type: ignore[attr-defined]
    assert np.array_equal(model.codebook[: len(CODES)], raw[CODES])
    assert model.codebook.shape == (len(CODES) + 3, raw.shape[1])


# errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lumina", "anole"])
def test_an_image_tokenizer_that_lacks_codes_is_refused_before_images_are_drawn(
    kind: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    copytree(folders[kind], tmp_path / "home")
    file = next((tmp_path / "home").rglob("vqgan.ckpt"))
    held = torch.load(file, weights_only=True)
    name = "quantize.embedding.weight"
    held["state_dict"][name] = held["state_dict"][name][: max(CODES)].clone()
    torch.save(held, file)
    told = f"has {max(CODES)} codes; expected at least {max(CODES) + 1}"
    refused(lambda: load(kind, tmp_path / "home", CASES[kind].size), told, error=CheckpointError)


def test_errors_are_for_people(folders: dict[str, Path], tmp_path: Path) -> None:
    refused(lambda: load("dalle", tmp_path), "kind is 'dalle'", *KINDS)
    for kind in KINDS:
        refused(lambda kind=kind: load(kind, tmp_path), str(tmp_path), error=CheckpointError)
    refused(lambda: load("lumina", folders["lumina"], (32, 40)), "32 x 40", "32")
    refused(lambda: load("anole", folders["anole"], 64), "64", "32")
    refused(lambda: load("lumina", folders["lumina"], 96), "<reserved08803>", error=CheckpointError)
    refused(lambda: load("llamagen-t2i", folders["llamagen-t2i"]), "t2i_*_512.pt", error=CheckpointError)
    model = load("anole", folders["anole"])
    for prompts, seeds, told in (
        ([], 0, "prompts"),
        ("cat", 0, "'cat'"),
        (["a", " "], 0, "' '"),
        (["a"], [1, 2], "2 seeds for 1"),
    ):
        refused(lambda p=prompts, s=seeds: next(draw(model, p, AR, Speculative(), s)), told)
    refused(lambda: next(draw(model, PROMPTS, make_decoder("speculative", gamma=2), Speculative())), "draft model")


@pytest.mark.parametrize("content", [None, "{", '{"version": "9"}'])
def test_tokenizers_that_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    lumina_files(tmp_path / "lumina", 1)
    file = tmp_path / "lumina" / "tokenizer.json"
    file.unlink() if content is None else file.write_text(content)
    refused(lambda: load("lumina", tmp_path / "lumina"), "tokenizer.json", "tokenizer", error=CheckpointError)


def test_layouts_of_the_published_vocabularies(monkeypatch: pytest.MonkeyPatch) -> None:
    """By names they are those written down by ids."""
    monkeypatch.setattr(language, "ANOLE_SIDE", grammars.ANOLE_SIDE)
    names = {"<s>": 0, "<eoss>": 8196, "<racm3:break>": 8197} | {f"<reserved{n:05d}>": n + 4 for n in range(8700, 9000)}
    digits = str.maketrans("0123456789", "ABCDEFGHIJ")
    names |= {f"IMGIMG{str(n).translate(digits)}Z": 4 + (n * 5) % 8192 for n in range(8192)}
    ids = language.Ids(names, Path())
    assert language.lumina_layout(ids, 24, 24) == grammars.lumina()
    assert language.lumina_layout(ids, 16, 32) == grammars.lumina(32, 64)
    assert language.anole_layout(ids) == grammars.anole()
    vision = [
        "<|image token|>",
        "<|image start|>",
        "<|image end|>",
        *(f"<|visual token {n:06d}|>" for n in range(32768)),
    ]
    ids = language.Ids({name: id for id, name in enumerate([*SPECIAL, *vision], 151643)}, Path())
    assert language.emu3_layout(ids, 90, 90) == grammars.emu3()
