"""The models of continuous tokens that come with simlab: images of clothing, 28 x 28, as 7 x 7 tokens of 8 numbers."""

from __future__ import annotations

from pathlib import Path

import torch

from simlab.continuous.networks.autoencoder import Autoencoder, AutoencoderConfig
from simlab.continuous.networks.mar.trunk import Mar, MarConfig
from simlab.models.adapters.fashion import SHIPPED, load_model


def load_autoencoder(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Autoencoder:
    """The autoencoder of ``continuous-autoencoder.safetensors``, from pixels to tokens and back.

    Parameters
    ----------
    folder
        Where the file is; by default the models that come with simlab.
    device
        Where the weights go.

    Returns
    -------
    Autoencoder
        In evaluation mode, its weights frozen.

    Raises
    ------
    CheckpointError
        If the file is missing or broken, or describes another model.
    """
    return load_model(folder, "continuous-autoencoder", lambda sizes: Autoencoder(AutoencoderConfig(**sizes)), device)


def load_target(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Mar:
    """The target of ``continuous-target.safetensors``, as :func:`load_autoencoder` loads."""
    return load_model(folder, "continuous-target", lambda sizes: Mar(MarConfig(**sizes)), device)


def load_draft(folder: Path = SHIPPED, device: torch.device | str = "cpu") -> Mar:
    """The draft model of ``continuous-draft.safetensors``, as :func:`load_autoencoder` loads."""
    return load_model(folder, "continuous-draft", lambda sizes: Mar(MarConfig(**sizes)), device)
