"""The picture of a grid is in the format that its name asks for, and whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")

from PIL import Image

from experiments.models.grid import FORMATS, write_grid

pytestmark = pytest.mark.exact

IMAGES = np.linspace(0, 1, 2 * 4 * 4).reshape(2, 4, 4)


@pytest.mark.parametrize("ending", ["", *FORMATS, ".PNG"])
def test_a_name_says_the_format(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"grid{ending}"
    write_grid(path, IMAGES)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    if ending == ".pdf":
        assert path.read_bytes().startswith(b"%PDF")
        return
    with Image.open(path) as read:
        assert read.format == FORMATS.get(ending.lower(), "PNG")
        assert read.size == (3 * 4 * 2 + 3 * 6, 3 * 4 + 2 * 6)


def test_a_name_of_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.xyz is no format of pictures; expected a name that ends in \.png, "):
        write_grid(tmp_path / "grid.xyz", IMAGES)
    assert not list(tmp_path.iterdir())
