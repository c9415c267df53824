"""MAR's loaders on small checkpoints in the published layout, against the same network written a second time."""

from __future__ import annotations

import json
from argparse import Namespace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load

from simlab.continuous.networks.mar.files import SIZES, converted, load_kl16, load_mar
from simlab.continuous.networks.mar.kl16 import Kl16
from simlab.continuous.networks.mar.parallel import denoised, mask_schedule, sample_tokens
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.models.checkpoints import CheckpointError
from tests.support.mar import (
    LATENT,
    SMALL,
    PlainMar,
    Schedule,
    as_tensors,
    drawn,
    kl16_shapes,
    mar_shapes,
    write_kl16,
    write_mar,
)
from tests.support.refusals import refused

pytestmark = pytest.mark.parity


# tensor by tensor -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["published", "converted"])
def test_every_tensor_of_a_transformer(form: str, tmp_path: Path) -> None:
    """The running average, not the weights as trained."""
    file = tmp_path / "checkpoint-last.pth"
    weights = write_mar(file)
    if form == "converted":
        file = tmp_path / "mar.safetensors"
        file.write_bytes(converted(tmp_path / "checkpoint-last.pth", SMALL.heads))
        with safe_open(file, "pt") as held:
            assert set(held.keys()) == set(weights)
            assert held.metadata()["kind"] == "mar"
            assert json.loads(held.metadata()["config"])["heads"] == SMALL.heads
    model = load_mar(file, SMALL.heads, torch.float64)
    assert not any(tensor.requires_grad for tensor in model.parameters())
    found = model.state_dict()
    assert found.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_array_equal(found[name].numpy(), array)


@pytest.mark.parametrize("form", ["published", "converted"])
def test_every_tensor_of_the_autoencoder(form: str, tmp_path: Path) -> None:
    """By the names of the file; the model's own begin the decoder at its lowest resolution."""
    file = tmp_path / "kl16.ckpt"
    weights = write_kl16(file)
    if form == "converted":
        file = tmp_path / "kl16.safetensors"
        file.write_bytes(converted(tmp_path / "kl16.ckpt"))
        with safe_open(file, "pt") as held:
            assert set(held.keys()) == set(weights)
            assert json.loads(held.metadata()["config"])["multiples"] == [1, 1, 2]
    found = load_kl16(file, torch.float64).state_dict()
    assert len(found) == len(weights)
    np.testing.assert_array_equal(
        found["decoder.conv_blocks.0.res.2.conv1.weight"], weights["decoder.up.2.block.2.conv1.weight"]
    )
    np.testing.assert_array_equal(found["encoder.mid.1.q.weight"], weights["encoder.mid.attn_1.q.weight"])


def test_every_tensor_stays_in_its_precision(tmp_path: Path) -> None:
    """Whatever the first one is, which may be of no part of the model."""
    file, held = tmp_path / "checkpoint-last.pth", as_tensors(drawn(mar_shapes(), 0))
    first, second, third = list(held)[:3]
    held = {first: held[first].half(), second: held[second].double() + 1e-12, third: held[third].float() + 1e-6} | {
        name: tensor.float() for name, tensor in list(held.items())[3:]
    }
    torch.save({"model_ema": held}, file)
    found = load(converted(file, SMALL.heads))
    assert found.keys() == held.keys()
    assert all(found[name].dtype == held[name].dtype and found[name].equal(held[name]) for name in held)

    file = tmp_path / "kl16.ckpt"
    held = as_tensors(write_kl16(file))
    for count in torch.tensor(3), torch.tensor(3.0).half():
        torch.save({"model": {"loss.count": count} | held}, file)
        found = load(converted(file))
        assert found.keys() == held.keys()
        assert all(found[name].dtype == held[name].dtype and found[name].equal(held[name]) for name in held)


def test_published_sizes() -> None:
    """As many numbers as the published files have room for: megabytes of both sets of weights, and little else."""
    for name, megabytes in (("B", 1587), ("L", 3650), ("H", 7191)):
        size = SIZES[name]
        sizes = size.dim, size.heads, size.layers, size.layers, size.head_width, size.head_layers
        with torch.device("meta"):
            model = Mar(MarConfig((16, 16), 16, *sizes))
        count = sum(tensor.numel() for tensor in model.parameters())
        assert 0 < megabytes - 2 * 4 * count / 2**20 < 1.5
        assert model.encoder_pos_embed_learned.shape == (1, 320, size.dim)
        shapes = mar_shapes(
            SMALL._replace(
                dim=size.dim,
                depth=size.layers,
                classes=1000,
                side=16,
                token_dim=16,
                buffer=64,
                width=size.head_width,
                layers=size.head_layers,
            )
        )
        assert {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()} == shapes
    with torch.device("meta"):
        autoencoder = Kl16()
    assert 0 < 254 - 4 * sum(tensor.numel() for tensor in autoencoder.parameters()) / 2**20 < 1.5


def test_what_training_keeps_beside_the_weights(tmp_path: Path) -> None:
    weights = as_tensors(drawn(mar_shapes(), 0))
    other = {"optimizer": {"state": {}}, "epoch": 399, "scaler": {"scale": 1.0}, "args": Namespace(cfg=2.9)}
    torch.save({"model": weights, "model_ema": weights} | other, tmp_path / "checkpoint-last.pth")
    assert load_mar(tmp_path / "checkpoint-last.pth", SMALL.heads).config.classes == SMALL.classes
    torch.save({"model": weights}, tmp_path / "checkpoint-last.pth")
    refused(lambda: load_mar(tmp_path / "checkpoint-last.pth", SMALL.heads), "model_ema", error=CheckpointError)
    weights = as_tensors(drawn(kl16_shapes(), 0)) | {"loss.logvar": torch.ones(())}
    torch.save({"model": weights}, tmp_path / "kl16.ckpt")
    assert load_kl16(tmp_path / "kl16.ckpt").config.latent == LATENT


def test_a_part_of_another_model(tmp_path: Path) -> None:
    """Harmon's files hold a MAR beside a language model, bare."""
    weights = as_tensors(drawn(mar_shapes(), 0))
    held = {f"mar.{name}": tensor for name, tensor in weights.items()}
    torch.save(held | {"llm.model.norm.weight": torch.ones(2)}, tmp_path / "harmon.pth")
    model = load_mar(tmp_path / "harmon.pth", SMALL.heads, torch.float64, part="mar.")
    assert torch.equal(model.mask_token, weights["mask_token"])
    refused(lambda: load_mar(tmp_path / "harmon.pth", SMALL.heads), "class_emb.weight", error=CheckpointError)


@pytest.mark.parametrize(
    ("changed", "heads", "told"),
    [
        ({"z_proj.bias": torch.full((24,), torch.nan)}, SMALL.heads, "z_proj.bias holds NaN"),
        ({}, None, "heads is None"),
        ({}, 5, "heads 5"),
    ],
)
def test_numbers_and_heads_that_cannot_be(
    changed: dict[str, torch.Tensor], heads: int | None, told: str, tmp_path: Path
) -> None:
    torch.save({"model_ema": as_tensors(drawn(mar_shapes(), 0)) | changed}, tmp_path / "checkpoint-last.pth")
    for read in (load_mar, converted):
        refused(lambda read=read: read(tmp_path / "checkpoint-last.pth", heads), told, error=CheckpointError)


# samplers ---------------------------------------------------------------------------------------------------------


def test_mask_schedule() -> None:
    """As published: 64 iterations of 256 tokens; every iteration makes at least one."""
    left = mask_schedule(256, 64)
    assert left[:4] == [255, 254, 253, 252]
    assert left[31] == 181  # floor(256 cos(pi / 4))
    assert left[-4:] == [18, 12, 6, 1]
    assert mask_schedule(4, 4) == [3, 2, 1, 1]
    for length, iterations in ((256, 256), (256, 100), (49, 49), (49, 7), (3, 1)):
        left = [length, *mask_schedule(length, iterations)]
        made = [before - after for before, after in zip(left, [*left[1:-1], 0], strict=False)]
        assert sum(made) == length
        assert min(made) >= 1
        assert len(made) == iterations
    refused(lambda: mask_schedule(4, 5), "iterations is 5", "4")


@pytest.mark.parametrize(("iterations", "guidance", "temperature"), [(4, 1.0, 1.0), (5, 2.9, 0.8), (16, 3.0, 1.0)])
def test_the_sampler(iterations: int, guidance: float, temperature: float, tmp_path: Path) -> None:
    """Token by token on the same noise, against the published procedure written as it is told."""
    plain = PlainMar(write_mar(tmp_path / "checkpoint-last.pth"))
    model = load_mar(tmp_path / "checkpoint-last.pth", SMALL.heads, torch.float64)
    steps, random = 6, np.random.default_rng(8)
    order = np.stack([random.permutation(SMALL.length) for _ in range(2)])
    noise = random.normal(size=(4000, SMALL.token_dim))
    used = 0

    def normals(count: int, size: int) -> torch.Tensor:
        nonlocal used
        used += count
        return torch.from_numpy(noise[used - count : used])

    labels = [1, 3]
    found = sample_tokens(
        model, torch.tensor(labels), torch.from_numpy(order), normals, iterations, guidance, temperature, steps
    )

    spaced, taken = Schedule(steps), 0
    tokens, masked = np.zeros((2, SMALL.length, SMALL.token_dim)), np.ones((2, SMALL.length), bool)
    for k in range(iterations):
        left = int(masked[0].sum())
        after = max(1, min(left - 1, int(np.floor(SMALL.length * np.cos(np.pi / 2 * (k + 1) / iterations)))))
        still = np.zeros_like(masked)
        for row in range(2):
            still[row, order[row, :after]] = True
        here = masked if k == iterations - 1 else masked & ~still
        scale = 1 + (guidance - 1) * (SMALL.length - after) / SMALL.length
        places = [(row, place) for row in range(2) for place in order[row] if here[row, place]]
        given = [plain.trunk(tokens[row], masked[row], labels[row])[place] for row, place in places]
        without = [plain.trunk(tokens[row], masked[row], None)[place] for row, place in places]
        x, taken = list(noise[taken : taken + len(places)]), taken + len(places)
        for t in reversed(range(steps)):
            drawn_now = noise[taken : taken + len(places)] if t else np.zeros((len(places), SMALL.token_dim))
            taken += len(places) if t else 0
            for i in range(len(places)):
                other = None if guidance == 1 else without[i]
                mean, sd = plain.step(x[i], t, given[i], other, scale, spaced)
                x[i] = mean + temperature * sd * drawn_now[i]
        for i, (row, place) in enumerate(places):
            tokens[row, place] = x[i]
        masked = masked & still
    assert used == taken
    assert np.isfinite(tokens).all()
    np.testing.assert_allclose(found.numpy(), tokens, rtol=1e-6, atol=1e-6 * np.abs(tokens).max())


@pytest.mark.parametrize("guidance", [None, 2.0])
def test_states_are_no_halves(guidance: float | None) -> None:
    """Of a head that says 0, which is the same in every precision, so is what comes of the noise."""

    def head(x: torch.Tensor, at: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        assert x.dtype == given.dtype
        return torch.cat([0 * x, 0 * x], dim=-1)

    def drawn_by(dtype: torch.dtype) -> np.ndarray:
        random = torch.Generator().manual_seed(3)
        given = torch.zeros(20, SMALL.dim, dtype=dtype)
        said = SimpleNamespace(head=head, config=SMALL)
        return (
            denoised(
                said,  # type: ignore[arg-type]
                given,
                None if guidance is None else given,
                guidance or 1.0,
                partial(torch.randn, generator=random),
                1.0,
                20,
            )
            .double()
            .numpy()
        )

    np.testing.assert_array_equal(drawn_by(torch.bfloat16), drawn_by(torch.float32))
