"""Text to image in one call, by models of others from the files they were published in, with their own settings."""

from simlab.models.text_to_image.base import Drawn, Preset, TextToImage, draw
from simlab.models.text_to_image.registry import KINDS, load, text_to_image

__all__ = ["KINDS", "Drawn", "Preset", "TextToImage", "draw", "load", "text_to_image"]
