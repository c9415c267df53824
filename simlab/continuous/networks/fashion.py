"""The models of continuous tokens that come with simlab: images of clothing, 28 x 28, as 7 x 7 tokens of 8 numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from simlab.checks import check_at_least, check_choice
from simlab.continuous.models.sequences import Pair
from simlab.continuous.networks.adapter import NetworkTokens
from simlab.continuous.networks.autoencoder import Autoencoder, AutoencoderConfig
from simlab.continuous.networks.mar.network import MarNetwork
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.continuous.networks.sampler import Sampler
from simlab.models.adapters.fashion import SHIPPED, load_model

ORDERS = ("raster", "random")
USUAL = Sampler()
CHUNK = 250  # images at a time


@dataclass(frozen=True)
class FashionContinuous:
    """A target, its draft, and the autoencoder whose tokens both make."""

    # target, draft: the two models
    target: Mar
    draft: Mar
    autoencoder: Autoencoder  # from pixels to tokens and back

    @property
    def length(self) -> int:
        """Tokens of an image."""
        return self.target.config.length

    def pair(
        self, classes: np.ndarray, order: np.ndarray | None = None, sampler: Sampler = USUAL
    ) -> Pair[NetworkTokens]:
        """What decoders take: a sequence for each class.

        ``classes``: ``int[B]``, from 0 to 9; 10 is no class. ``order``: ``int[B, N]``, as :func:`orders` gives; raster
        order by default. ``sampler``: how kernels are sampled. Returns the target and the draft, for tapes of B
        replicates; their tokens are ``float64[B, N, d]`` in that order. Raises ``ValueError`` for classes and orders
        that are none.
        """
        order = orders("raster", np.arange(len(classes)), self.length) if order is None else order
        return Pair(*(NetworkTokens(MarNetwork(model, classes, order, sampler)) for model in (self.target, self.draft)))

    @torch.no_grad()
    def images(self, tokens: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
        """The images ``float32[B, 28, 28]``, from 0 to 1, of tokens ``float64[B, N, d]`` in the ``order`` given.

        Tokens that were never made, NaN, count as the mean one, 0.
        """
        order = orders("raster", np.arange(len(tokens)), self.length) if order is None else order
        places = np.argsort(order, axis=1)[:, :, None]
        device = next(self.autoencoder.parameters()).device
        placed = torch.from_numpy(np.nan_to_num(np.take_along_axis(tokens, places, 1)).astype(np.float32))
        made = [self.autoencoder.decode(part.to(device))[:, 0].cpu().numpy() for part in placed.split(CHUNK)]
        return np.concatenate(made)


def orders(kind: str, replicates: np.ndarray, length: int, seed: int = 0) -> np.ndarray:
    """The places of the tokens of each sequence, in the order they are made in.

    ``kind``: ``"raster"``, or ``"random"``: each sequence in an order of its own. ``replicates``: ``int[B]``, the
    numbers of the sequences, as on the tape: an order depends on the seed and this number alone. ``length``: N.
    ``seed``: of random orders. Returns ``int64[B, N]``. Raises ``ValueError`` for another kind or length.
    """
    check_choice("order", kind, ORDERS)
    raster = np.arange(check_at_least("length", length, 1))
    if kind == "raster":
        return np.tile(raster, (len(replicates), 1))
    return np.stack([np.random.default_rng([seed, int(number)]).permutation(raster) for number in replicates])


def load_fashion_continuous(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> FashionContinuous:
    """The pair and the autoencoder of a folder.

    ``folder``: where ``continuous-target.safetensors``, ``continuous-draft.safetensors`` and
    ``continuous-autoencoder.safetensors`` are; by default the models that come with simlab. ``device``: where the
    weights go. Returns the three models, in evaluation mode, their weights frozen. Raises ``CheckpointError`` if a file
    is missing or broken, describes another model, or was built on another one than stands beside it.
    """
    return FashionContinuous(load_target(folder, device), load_draft(folder, device), load_autoencoder(folder, device))


def load_autoencoder(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Autoencoder:
    """The autoencoder of ``continuous-autoencoder.safetensors``, from pixels to tokens and back, as
    :func:`~simlab.models.adapters.fashion.load_tokenizer` loads."""
    return load_model(folder, "continuous-autoencoder", lambda sizes: Autoencoder(AutoencoderConfig(**sizes)), device)


def load_target(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Mar:
    """The target of ``continuous-target.safetensors``, as :func:`load_autoencoder` loads."""
    return load_model(folder, "continuous-target", lambda sizes: Mar(MarConfig(**sizes)), device)


def load_draft(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Mar:
    """The draft model of ``continuous-draft.safetensors``, as :func:`load_autoencoder` loads."""
    return load_model(folder, "continuous-draft", lambda sizes: Mar(MarConfig(**sizes)), device)
