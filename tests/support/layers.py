"""Shapes of the tensors of layers, by the names that the code of VQGAN and what followed it gives them."""

from __future__ import annotations


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
