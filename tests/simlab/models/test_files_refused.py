"""Every loader of published weights refuses what is no checkpoint of its model, by the name of what is wrong with it.

What goes beyond that, as sizes that do not fit each other, is beside the loader it belongs to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file

from simlab.continuous.networks.mar.files import converted, load_kl16, load_mar
from simlab.models.adapters.chameleon import load_chameleon
from simlab.models.adapters.emu3 import load_emu3
from simlab.models.adapters.emu3_tokenizer import load_emu3_tokenizer
from simlab.models.adapters.llamagen import load_gpt
from simlab.models.adapters.vqgan import load_vqgan
from simlab.models.architectures.vq16 import load_vq
from simlab.models.checkpoints import CheckpointError
from tests.support import llamagen, mar, published

pytestmark = pytest.mark.exact


class Loader(NamedTuple):
    """How a checkpoint is written and read, and one of the weights in it."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    file: str  # that holds the weights
    under: str | None  # in the file
    weight: str
    told: str | None = None  # the weight's name in messages, if it is another


def gpt(condition: str) -> Loader:
    sizes = {"heads": llamagen.HEADS, "vocabulary": llamagen.V}
    return Loader(
        lambda home: llamagen.saved(llamagen.gpt_weights(condition), home / "gpt.pt"),
        lambda home: load_gpt(home / "gpt.pt", llamagen.SHAPE, condition, **sizes),
        *("gpt.pt", "model", "layers.1.attention.wo.weight"),
    )


LOADERS = {
    "llamagen, class": gpt("class"),
    "llamagen, text": gpt("text"),
    "llamagen's tokenizer": Loader(
        lambda home: llamagen.saved(llamagen.vq_weights(), home / "vq.pt"),
        lambda home: load_vq(home / "vq.pt", llamagen.TOKENIZER),
        *("vq.pt", "model", "quant_conv.bias"),
    ),
    **{
        f"mar{how}": Loader(
            lambda home: mar.write_mar(home / "mar.pth"),
            lambda home, read=read: read(home / "mar.pth", mar.SMALL.heads),
            *("mar.pth", "model_ema", "decoder_blocks.1.mlp.fc2.bias"),
        )
        for how, read in (("", load_mar), (", converted", converted))
    },
    **{
        f"kl16{how}": Loader(
            lambda home: mar.write_kl16(home / "kl16.ckpt"),
            lambda home, read=read: read(home / "kl16.ckpt"),
            *("kl16.ckpt", "model", "encoder.down.2.attn.1.k.bias"),
        )
        for how, read in (("", load_kl16), (", converted", converted))
    },
    "chameleon's tokenizer": Loader(
        lambda home: published.vqgan_files(home / "vqgan.ckpt"),
        lambda home: load_vqgan(home / "vqgan.ckpt"),
        *("vqgan.ckpt", "state_dict", "decoder.up.1.block.0.conv1.bias"),
    ),
    "emu3's tokenizer": Loader(
        lambda home: published.emu3_tokenizer_files(home / "own"),
        lambda home: load_emu3_tokenizer(home / "own"),
        *("own/model.safetensors", None, "decoder.conv_out.bias"),
    ),
    "emu3": Loader(
        lambda home: published.emu3_files(home / "own"),
        lambda home: load_emu3(home / "own", published.EMU3_LAYOUT, 6),
        *("own/model.safetensors", None, "model.layers.1.self_attn.o_proj.weight"),
    ),
    "lumina": Loader(
        lambda home: published.lumina_files(home / "own", 1),
        lambda home: load_chameleon(home / "own", published.LAYOUT, len(published.PROMPT)),
        *("own/model-00001-of-00002.safetensors", None, "model.norm.weight"),
    ),
    "anole": Loader(
        lambda home: published.meta_files(home / "own"),
        lambda home: load_chameleon(home / "own", published.LAYOUT, len(published.PROMPT)),
        *("own/models/7b/consolidated.pth", None, "layers.1.attention.wo.weight"),
        "model.layers.1.self_attn.o_proj.weight",
    ),
}


class Hostile:
    """Makes a folder when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def change(loader: Loader, home: Path, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write a checkpoint again with other weights."""
    file = home / loader.file
    if file.suffix == ".safetensors":
        save_file(changed(load_file(file)), file, {"format": "pt"})
        return
    held = torch.load(file, weights_only=True)
    weights = changed(held[loader.under] if loader.under else held)
    torch.save(held | {loader.under: weights} if loader.under else weights, file)


def refused(loader: Loader, home: Path, *told: str) -> None:
    with pytest.raises(CheckpointError, match="expected ") as caught:
        loader.read(home)
    for part in (str(home), *told):
        assert part in str(caught.value)


by_loader = pytest.mark.parametrize("name", LOADERS)


@by_loader
def test_weights_that_are_missing_too_many_of_another_shape_or_others(name: str, tmp_path: Path) -> None:
    loader = LOADERS[name]
    loader.write(tmp_path)
    weight, told = loader.weight, loader.told or loader.weight
    loader.read(tmp_path)
    whole = (tmp_path / loader.file).read_bytes()
    other = torch.ones(5, 3)
    for changed, part in (
        (lambda held: {key: tensor for key, tensor in held.items() if key != weight}, f"is missing {told}"),
        (lambda held: held | {"more.weight": other}, "has unexpected more.weight"),
        (lambda held: held | {weight: other}, told),
        (lambda held: {"a": other}, ""),
    ):
        change(loader, tmp_path, changed)
        refused(loader, tmp_path, part)
        (tmp_path / loader.file).write_bytes(whole)


@pytest.mark.parametrize("name", ["llamagen, class", "mar", "chameleon's tokenizer"])
def test_numbers_in_eight_bits_are_read_and_those_that_are_none_refused(name: str, tmp_path: Path) -> None:
    loader = LOADERS[name]
    loader.write(tmp_path)

    def filled_with(number: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
        small = torch.tensor(number).to(torch.float8_e4m3fn)
        return lambda held: held | {loader.weight: small.expand(held[loader.weight].shape).contiguous()}

    change(loader, tmp_path, filled_with(0.5))
    loader.read(tmp_path)
    change(loader, tmp_path, filled_with(torch.nan))
    refused(loader, tmp_path, loader.weight, "NaN")


@pytest.mark.parametrize("name", [name for name, loader in LOADERS.items() if "safetensors" not in loader.file])
def test_tensors_of_other_kinds_or_without_a_name_in_words(name: str, tmp_path: Path) -> None:
    loader = LOADERS[name]
    loader.write(tmp_path)
    plain = torch.ones(5, 3)
    for key, tensor in (
        (loader.weight, plain.to_sparse()),
        (loader.weight, plain.to("meta")),
        (7, plain),
    ):
        change(loader, tmp_path, lambda held, key=key, tensor=tensor: held | {key: tensor})
        refused(loader, tmp_path, str(key), "expected text" if key == 7 else "expected a plain tensor")
        change(loader, tmp_path, lambda held, key=key: {name: t for name, t in held.items() if name != key})


@by_loader
def test_a_file_that_is_none_or_not_there(name: str, tmp_path: Path) -> None:
    loader = LOADERS[name]
    loader.write(tmp_path)
    (tmp_path / loader.file).write_bytes(b"noise" * 20)
    refused(loader, tmp_path)
    (tmp_path / loader.file).unlink()
    refused(loader, tmp_path)


@pytest.mark.parametrize("name", [name for name, loader in LOADERS.items() if "safetensors" not in loader.file])
def test_code_in_a_file_is_not_executed(name: str, tmp_path: Path) -> None:
    loader, mark = LOADERS[name], tmp_path / "executed"
    loader.write(tmp_path)
    file = tmp_path / loader.file
    torch.save(torch.load(file, weights_only=True) | {"hook": Hostile(mark)}, file)
    refused(loader, tmp_path, "holds more than tensors; expected")  # and not torch's advice to execute it all the same
    assert not mark.exists()
    torch.load(file, weights_only=False)  # a reader that executes it
    assert mark.exists()


@pytest.mark.parametrize(
    "sizes", [{}, {"model": "x"}, {"n_heads": "a"}, {"n_heads": 0}, {"n_heads": [4]}, {"n_heads": torch.inf}]
)
def test_sizes_that_are_none(sizes: dict[str, Any], tmp_path: Path) -> None:
    """Of a format that no library reads."""
    loader = LOADERS["anole"]
    loader.write(tmp_path)
    (tmp_path / "own" / "models" / "7b" / "params.json").write_text(json.dumps(sizes))
    refused(loader, tmp_path)


@pytest.mark.parametrize(
    ("name", "weight", "shape"),
    [
        ("anole", "tok_embeddings.weight", (5,)),
        *((name, "encoder.conv_in.weight", (0, 3, 3, 3)) for name in ("chameleon's tokenizer", "kl16")),
    ],
)
def test_a_tensor_that_tells_no_sizes_is_refused_too(
    name: str, weight: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    """Of other dimensions, or of no channels."""
    loader = LOADERS[name]
    loader.write(tmp_path)
    change(loader, tmp_path, lambda held: held | {weight: torch.ones(shape)})
    refused(loader, tmp_path)
