"""Images side by side in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from experiments.results import write

SCALE, GAP = 3, 6  # pixels a pixel of the shipped models' images, and between images
PAPER, INK = 255, 0
LETTER = 7  # pixels of a letter of the names
FORMATS = {
    ".png": "PNG",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".pdf": "PDF",
}
LARGEST = {"WEBP": 16_383, "JPEG": 65_535}  # pixels a side that a format holds


def format_of(path: Path) -> str:
    """The format that a name asks for: PNG where it has no ending. Raises ``ValueError`` for an ending of none."""
    ending = path.suffix.lower()
    if ending and ending not in FORMATS:
        raise ValueError(
            f"{path}: {ending} is no format of pictures; expected a name that ends in {', '.join(FORMATS)}"
        )
    return FORMATS.get(ending, "PNG")


def write_grid(
    path: Path, images: np.ndarray, columns: int | None = None, names: Sequence[str] = (), scale: int = SCALE
) -> None:
    """``images[n, rows, cols]`` or ``[n, rows, cols, 3]`` from 0 to 1, each pixel ``scale`` pixels a side.

    Fewer where the format does not hold so many. In ``columns`` columns or about as many as rows; ``names`` are of
    rows. Raises ``ValueError`` as :func:`format_of`, and for images that the format does not hold at all.
    """
    kind = format_of(path)
    columns = columns or ceil(sqrt(len(images)))
    rows = -(-len(images) // columns)
    margin = GAP + LETTER * max(map(len, names)) if names else 0
    if kind in LARGEST:
        room = (LARGEST[kind] - GAP) // rows - GAP, (LARGEST[kind] - GAP - margin) // columns - GAP
        scale = min(scale, *(space // side for space, side in zip(room, images.shape[1:3], strict=True)))
        if scale < 1:
            raise ValueError(
                f"{path}: {rows} x {columns} images are more than the {LARGEST[kind]:,} pixels a side that {kind} "
                "holds; expected a name that ends in .png"
            )
    high, wide = (side * scale + GAP for side in images.shape[1:3])
    sheet = np.full((rows * high + GAP, columns * wide + GAP + margin, *images.shape[3:]), PAPER, dtype=np.uint8)
    for k, image in enumerate(images):
        top, left = GAP + k // columns * high, margin + GAP + k % columns * wide
        pixels = np.rint(255 * image).astype(np.uint8).repeat(scale, axis=0).repeat(scale, axis=1)
        sheet[top : top + len(pixels), left : left + pixels.shape[1]] = pixels
    drawn = Image.fromarray(sheet)
    pen = ImageDraw.Draw(drawn)
    for row, name in enumerate(names):
        pen.text((GAP, GAP + row * high + high // 2 - LETTER), name, fill=INK if images.ndim == 3 else (INK,) * 3)
    write(path, lambda temporary: drawn.save(temporary, format=kind, **({"lossless": True} if kind == "WEBP" else {})))
