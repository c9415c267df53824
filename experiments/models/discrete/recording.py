"""Recorded drafts of discrete tokens: (p, q, x) and their positions.

Rows are stored in half precision, scaled so that the largest mass is 2^15: eleven bits of a mass down to 2^-29 of the
largest, then fewer; no mass becomes 0. What that costs, the TV between a row and its stored form, is measured and
stands in the file. Rows come in blocks that are read one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.models.recording import WRONG, Recording, RecordingError, wrong
from experiments.results import versions
from simlab.arrays import total_variation

FORMAT = "simlab rows 1"
LARGEST = 2.0**15  # mass of a row's likeliest token, in half precision
ENTRIES = 1 << 22  # of a block of rows
PLACES = "image", "call", "place", "position", "token", "accepted"
DESCRIBED = "method", "vocabulary", "rows", "blocks", "rounding"


class Recorded(NamedTuple):
    """Verified drafts, ``[n]`` each but for the rows; those of one window stand together, in order."""

    p: np.ndarray  # [n, V]
    q: np.ndarray  # [n, V]
    image: np.ndarray
    call: np.ndarray  # from 1
    place: np.ndarray  # in the window, from 0
    position: np.ndarray  # in the sequence
    token: np.ndarray
    accepted: np.ndarray  # drafts that the run accepted in that call


def halved(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``float16[n, V]`` of rows, scaled, and the TV ``[n]`` that rounding costs each."""
    scaled = rows / rows.max(axis=1, keepdims=True) * LARGEST
    half = scaled.astype(np.float16)
    half[(half == 0) & (rows > 0)] = np.finfo(np.float16).smallest_subnormal
    return half, np.asarray(total_variation(whole(half), rows / rows.sum(axis=1, keepdims=True)))


def whole(half: np.ndarray) -> np.ndarray:
    """``float64[n, V]``: the pmfs of rows in half precision."""
    rows = half.astype(np.float64)
    return rows / rows.sum(axis=1, keepdims=True)


@dataclass
class Packed:
    """Recorded drafts in the precision of the file."""

    parts: list[Recorded] = field(default_factory=list)
    lost: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: Recorded) -> None:
        """Add drafts whose rows are in full precision."""
        (p, lost_p), (q, lost_q) = halved(rows.p), halved(rows.q)
        self.parts.append(rows._replace(p=p, q=q))
        self.lost += [lost_p, lost_q]

    def arrays(self, manifest: dict[str, Any], codebook: np.ndarray | None) -> dict[str, np.ndarray]:
        """All of it by name, with the ``manifest`` of the run and the codebook ``[V, d]`` of the tokens."""
        together = Recorded(*(np.concatenate(values) for values in zip(*self.parts, strict=True)))
        # by image and call, so that a window stands together whatever batch it was in
        order = np.lexsort((together.place, together.call, together.image))
        together = Recorded(*(values[order] for values in together))
        rows, vocabulary = together.p.shape
        step = max(1, ENTRIES // vocabulary)
        starts = range(0, rows, step)
        lost = np.concatenate(self.lost)
        described = manifest | {
            "format": FORMAT,
            "vocabulary": vocabulary,
            "rows": rows,
            "blocks": len(starts),
            "rounding": {"mean_tv": float(lost.mean()), "max_tv": float(lost.max())},
            "versions": versions(),
        }
        found = {"manifest": np.array(json.dumps(described))}
        found |= {name: getattr(together, name).astype(np.int32) for name in PLACES}
        found |= {} if codebook is None else {"codebook": codebook.astype(np.float32)}
        for block, start in enumerate(starts):
            found[f"p_{block}"], found[f"q_{block}"] = (r[start : start + step] for r in (together.p, together.q))
        return found


class Rows(Recording):
    """A file of recorded drafts, whose rows are read block by block.

    Raises :class:`RecordingError` also while blocks are read.
    """

    holds = "rows"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self.manifest.get("format") != FORMAT:
            raise RecordingError(f"{path}: has the format {self.manifest.get('format')!r}; expected {FORMAT!r}")
        self._check_holds(PLACES, DESCRIBED)
        try:
            self.image, self.call, self.place, self.position, token, self.accepted = map(self._whole, PLACES)
            self.token = token.astype(np.int64)
            self.vocabulary, self._blocks = int(self.manifest["vocabulary"]), int(self.manifest["blocks"])
            self.codebook = self._member("codebook").astype(np.float64) if "codebook" in self._file.files else None
            self._check()
        except WRONG as error:
            raise wrong(path, error) from None

    def __len__(self) -> int:
        return len(self.token)

    def told(self) -> str:
        """How many drafts, and what rounding cost their rows."""
        rounding = self.manifest["rounding"]
        return (
            f"{self.manifest['method']}  {len(self):,} drafts in {self.windows[-1] + 1} windows of "
            f"{len(set(self.image.tolist()))} images, V = {self.vocabulary}\n"
            f"rounding  TV {rounding['mean_tv']:.1e}, at most {rounding['max_tv']:.1e}"
        )

    @property
    def windows(self) -> np.ndarray:
        """``int[n]``: the number of the window that each draft is in."""
        new = (np.diff(self.image) != 0) | (np.diff(self.call) != 0)
        return np.concatenate([[0], np.cumsum(new)])

    def blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Which drafts, and their rows p and q, ``float64[n, V]``."""
        start = 0
        for block in range(self._blocks):
            p, q = (self._member(f"{name}_{block}") for name in "pq")
            stop = start + len(p)
            if p.shape != q.shape or p.shape[1:] != (self.vocabulary,) or stop > len(self):
                raise RecordingError(
                    f"{self.path}: block {block} has rows {p.shape} and {q.shape}; expected as many of p and q, of "
                    f"{self.vocabulary} tokens"
                )
            for rows in (p, q):
                if rows.dtype.kind != "f":
                    raise RecordingError(f"{self.path}: block {block} is of {rows.dtype}; expected rows of floats")
                if not (np.isfinite(rows).all() and (rows >= 0).all() and rows.any(axis=1).all()):
                    raise RecordingError(f"{self.path}: block {block} holds a row without mass; expected pmfs")
            yield slice(start, stop), whole(p), whole(q)
            start = stop
        if start != len(self):
            raise RecordingError(f"{self.path}: holds rows of {start} drafts; expected {len(self)}")

    def _whole(self, name: str) -> np.ndarray:
        """Whole numbers, one of each draft."""
        values = self._member(name)
        if values.dtype.kind not in "iu" or values.ndim != 1:
            shape = f"{values.dtype} of shape {values.shape}"
            raise RecordingError(f"{self.path}: {name} is {shape}; expected whole numbers, one of each draft")
        return values

    def _check(self) -> None:
        rows = int(self.manifest["rows"])
        if any(len(getattr(self, name)) != rows for name in PLACES) or not rows:
            raise RecordingError(f"{self.path}: not every draft is described; expected {rows} of each")
        first = np.unique(self.windows, return_index=True)[1]
        place = np.arange(rows) - first[self.windows]
        if (self.place != place).any():
            at = int((self.place != place).argmax())
            raise RecordingError(
                f"{self.path}: place of draft {at} is {self.place[at]}; expected {place[at]}: drafts of a window stand "
                "together, in order"
            )
        if self.token.min() < 0 or self.token.max() >= self.vocabulary:
            raise RecordingError(f"{self.path}: a token is outside the vocabulary; expected 0 to {self.vocabulary - 1}")
        if self.codebook is not None and not (self.codebook.ndim == 2 and np.isfinite(self.codebook).all()):
            shape = self.codebook.shape
            raise RecordingError(f"{self.path}: the codebook has shape {shape}, or NaN; expected numbers [V, d]")
        if self.codebook is not None and len(self.codebook) != self.vocabulary:
            raise RecordingError(
                f"{self.path}: the codebook has {len(self.codebook)} vectors; expected {self.vocabulary}, one a token"
            )
