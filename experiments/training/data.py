"""Fashion-MNIST: 60 000 and 10 000 grey images of 28 x 28, ten classes.

Xiao, Rasul and Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms", arXiv
1708.07747; MIT licence. Four idx files; Debian packages them as ``dataset-fashion-mnist``.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np
import platformdirs

from experiments.results import write

SIDE = 28
DEBIAN = Path("/usr/share/datasets/fashion-mnist")
UPSTREAM = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
# of what is in the archives, which is the same however it was compressed
SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


class Images(NamedTuple):
    """Images and their classes."""

    pixels: np.ndarray  # uint8[n, 28, 28]
    labels: np.ndarray  # int64[n]


class Fashion(NamedTuple):
    train: Images
    held_out: Images
    sha256: str  # of the four files


def load_fashion(folder: Path | None = None, fetch: Callable[[str], bytes] | None = None) -> Fashion:
    """The data from ``folder``, from where Debian's package puts it, or else downloaded.

    Raises ``ValueError`` for a file that is missing from ``folder``, cannot be downloaded, or is not what it should be.
    """
    content = {name: _checked(name, _read(name, folder, fetch or _download)) for name in SHA256}
    arrays = {name: _array(raw) for name, raw in content.items()}
    whole = hashlib.sha256("".join(SHA256.values()).encode()).hexdigest()
    train, held_out = (
        Images(arrays[f"{part}-images-idx3-ubyte"], arrays[f"{part}-labels-idx1-ubyte"].astype(np.int64))
        for part in ("train", "t10k")
    )
    return Fashion(train, held_out, whole)


def _read(name: str, folder: Path | None, fetch: Callable[[str], bytes]) -> bytes:
    """The content of one file, unpacked."""
    for place in (folder,) if folder is not None else (DEBIAN, _cache()):
        for path, opened in ((place / f"{name}.gz", gzip.decompress), (place / name, bytes)):
            if path.is_file():
                return _opened(path, opened, path.read_bytes)
    if folder is not None:
        raise ValueError(f"{folder}: {name}.gz is missing; expected the four files of Fashion-MNIST")
    address = f"{UPSTREAM}{name}.gz"
    packed = fetch(address)
    raw = _checked(name, _opened(address, gzip.decompress, lambda: packed))
    write(_cache() / f"{name}.gz", lambda temporary: temporary.write_bytes(packed))
    return raw


def _opened(source: object, opened: Callable[[bytes], bytes], read: Callable[[], bytes]) -> bytes:
    """What is packed in a file or a download; raises ``ValueError`` where that is damaged or something else."""
    try:
        return opened(read())
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{source}: {error}; expected an idx file, packed or not") from None


def _download(address: str) -> bytes:
    try:
        with urlopen(address, timeout=60) as response:
            packed: bytes = response.read()
    except (OSError, HTTPException) as error:
        raise ValueError(
            f"{address}: {error}; expected to download Fashion-MNIST: install Debian's dataset-fashion-mnist, or give "
            "a folder with the four files (--data)"
        ) from None
    return packed


def _cache() -> Path:
    return platformdirs.user_cache_path("simlab", appauthor=False) / "fashion-mnist"


def _checked(name: str, raw: bytes) -> bytes:
    found = hashlib.sha256(raw).hexdigest()
    if found != SHA256[name]:
        raise ValueError(f"{name}: sha256 is {found}; expected {SHA256[name]}, that of Fashion-MNIST")
    return raw


def _array(raw: bytes) -> np.ndarray:
    """What an idx file of bytes holds; its header is the number of axes and their lengths."""
    axes = raw[3]
    shape = np.frombuffer(raw, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape.astype(int))
