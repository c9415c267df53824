"""Shapes and numbers of the tensors of layers, by the names that the code of VQGAN and what followed it gives them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import torch


def drawn(
    shapes: Mapping[str, tuple[int, ...]], seed: int = 0, spread: float = 0.3, dtype: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    """Normal numbers, around 1 for the gains of norms."""
    generator = torch.Generator().manual_seed(seed)
    gains = {name for name in shapes if name.endswith("weight") and any(part in name for part in ("norm", "_ln."))}
    return {
        name: torch.randn(shape, generator=generator, dtype=dtype) * spread + (name in gains)
        for name, shape in shapes.items()
    }


class Layers(dict[str, tuple[int, ...]]):
    """The shape of every tensor by its name, in the order of the layers."""

    def linear(self, name: str, inputs: int, outputs: int) -> None:
        self[f"{name}.weight"], self[f"{name}.bias"] = (outputs, inputs), (outputs,)

    def convolution(self, name: str, inputs: int, outputs: int, size: int) -> None:
        self[f"{name}.weight"], self[f"{name}.bias"] = (outputs, inputs, size, size), (outputs,)

    def norm(self, name: str, channels: int, by: int | None = None) -> None:
        """``by`` so many numbers, if its gains are not its own."""
        layer = name if by is None else f"{name}.norm_layer"
        self[f"{layer}.weight"] = self[f"{layer}.bias"] = (channels,)
        if by is not None:
            for part in ("conv_y", "conv_b"):
                self.convolution(f"{name}.{part}", by, channels, 1)

    def residual(self, name: str, inputs: int, outputs: int, by: int | None = None) -> None:
        self.norm(f"{name}.norm1", inputs, by)
        self.convolution(f"{name}.conv1", inputs, outputs, 3)
        self.norm(f"{name}.norm2", outputs, by)
        self.convolution(f"{name}.conv2", outputs, outputs, 3)
        if inputs != outputs:
            self.convolution(f"{name}.nin_shortcut", inputs, outputs, 1)

    def attention(self, name: str, channels: int, by: int | None = None) -> None:
        self.norm(f"{name}.norm", channels, by)
        for part in ("q", "k", "v", "proj_out"):
            self.convolution(f"{name}.{part}", channels, channels, 1)

    def autoencoder(
        self,
        widths: Sequence[int],
        blocks: int,
        moments: int,
        latent: int,
        attention: Container[str] = (),
        by: int | None = None,
        numbered: bool = False,
    ) -> None:
        """An encoder to ``moments`` channels and a decoder from ``latent``, of ``widths`` from the highest level on.

        A level has so many ``blocks``, in the decoder one more; the lowest of the sides that are named has
        ``attention``. Norms of the decoder are ``by`` codes of so many numbers, if by any. ``numbered`` is as in
        LlamaGen's files: the decoder's levels from the lowest on, and the parts of the middle by numbers.
        """
        lowest = len(widths) - 1
        for side, way, inputs in (("encoder", "down", widths[0]), ("decoder", "up", widths[lowest])):
            levels = list(range(len(widths)))[:: 1 if side == "encoder" else -1]
            of, extra = (None, 0) if side == "encoder" else (by, 1)
            for place, level in enumerate(levels):
                stage = f"{side}.conv_blocks.{place}" if numbered else f"{side}.{way}.{level}"
                for block in range(blocks + extra):
                    self.residual(f"{stage}.{'res' if numbered else 'block'}.{block}", inputs, widths[level], of)
                    inputs = widths[level]
                    if level == lowest and side in attention:
                        self.attention(f"{stage}.attn.{block}", inputs, of)
                if level != levels[-1]:
                    self.convolution(f"{stage}.{way}sample.conv", inputs, inputs, 3)
            first, between, last = ("0", "1", "2") if numbered else ("block_1", "attn_1", "block_2")
            self.residual(f"{side}.mid.{first}", widths[lowest], widths[lowest], of)
            self.attention(f"{side}.mid.{between}", widths[lowest], of)
            self.residual(f"{side}.mid.{last}", widths[lowest], widths[lowest], of)
            self.norm(f"{side}.norm_out", inputs, of)
        self.convolution("encoder.conv_in", 3, widths[0], 3)
        self.convolution("encoder.conv_out", widths[lowest], moments, 3)
        self.convolution("decoder.conv_in", latent, widths[lowest], 3)
        self.convolution("decoder.conv_out", widths[0], 3, 3)
