"""How multimodal language models write an image: which tokens may stand at which position.

Behind a header come rows of image tokens, in some models each with a token that ends the line, then tokens that end
the image. All but the image tokens is certain once the size is known, so a sequence has one length, and what is allowed
is a table looked up by the position in the image, for every position of a window.

Sources: Lumina-mGPT (Liu et al., arXiv 2408.02657), Anole (Chern et al., arXiv 2407.06135), both with the vocabulary of
Chameleon (arXiv 2405.09818); Emu3 (Wang et al., arXiv 2409.18869).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlab.checks import check_at_least, check_number
from simlab.models.process.grammar import Grammar

CHAMELEON_IMAGE = range(4, 8196)
CHAMELEON_START, CHAMELEON_END, CHAMELEON_BEGIN = 0, 8196, 8197  # of a text; end and begin of an image
LUMINA_LINE, LUMINA_SIZE, LUMINA_STOP = 8803, 8804, 8710
LUMINA_GRID = 2  # tokens a side that a size token counts as one: 32 pixels
ANOLE_SIDE = 32  # tokens a side of its one size, 512 pixels

EMU3_IMAGE = range(151854, 151854 + 32768)
EMU3_LINE, EMU3_FRAME, EMU3_END, EMU3_STOP = 151846, 151847, 151853, 151850
EMU3_SIDE = 90  # tokens a side at 720 pixels

IMAGE = -1  # among certain ids: any image token


@dataclass(frozen=True)
class Layout:
    """An image of rows of tokens, all by the ids of a model. Raises ``ValueError`` for ids or sizes that cannot be."""

    image: range  # ids of the image tokens
    # rows, columns: image tokens a side
    rows: int
    columns: int
    line: int | None = None  # id that ends each row, if any
    end: tuple[int, ...] = ()  # ids that end the image
    # ids that a prompt ends with; no part of the sequence: the size is chosen, so nothing is left to draw
    header: tuple[int, ...] = ()
    null: tuple[int, ...] | None = None  # ids of the prompt that guidance starts from; the header, unless given

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            check_at_least(name, getattr(self, name), 1)
        special = self._special
        if not self.image or min(self.image) < 0 or min(special, default=0) < 0:
            raise ValueError(f"image is {self.image} and the others {special}; expected ids, at least one of an image")
        if len(set(special)) < len(special) or any(token in self.image for token in special):
            raise ValueError(f"ids that end lines and images are {special}; expected each once, none in {self.image}")

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, tokens a row): where one row is below another, the ends of lines counted."""
        return self.rows, self.columns + (self.line is not None)

    @property
    def length(self) -> int:
        """Tokens of a sequence, the header not among them."""
        return len(self.certain)

    @cached_property
    def ids(self) -> np.ndarray:
        """``int[V]``: all that can stand in a sequence, the image tokens first: a vocabulary of its own."""
        return np.array([*self.image, *self._special])

    @cached_property
    def certain(self) -> np.ndarray:
        """``int[N]``: the id that is certain at each position; -1 for an image token."""
        row = [IMAGE] * self.columns + ([] if self.line is None else [self.line])
        return np.array([*row * self.rows, *self.end])

    @property
    def places(self) -> np.ndarray:
        """``int[rows, columns]``: the positions of the image tokens."""
        return np.flatnonzero(self.certain == IMAGE).reshape(self.rows, self.columns)

    def grammar(self, ids: np.ndarray | None = None) -> Grammar:
        """The tokens that are allowed at each position.

        ``ids``: ``int[V]``, the vocabulary by the ids of the model; by default that of this layout. Returns a Grammar
        of N positions over V tokens: a row for the image tokens, and one for each token that is certain somewhere.
        Raises ``ValueError`` if a token that is certain somewhere, or every image token, is not in the vocabulary.
        """
        ids = self.ids if ids is None else np.asarray(ids)
        certain = np.array(self._special, dtype=np.int64)
        rows = np.concatenate([np.isin(ids, np.array(self.image))[None], certain[:, None] == ids])
        of = np.zeros(self.length, dtype=np.int64)  # the image tokens'
        for number, token in enumerate(certain, start=1):
            of[self.certain == token] = number
        return Grammar(rows, of)

    def guidance(self, scale: float) -> tuple[float, ...]:
        """A scale of guidance for each position.

        ``scale``: the scale where there is a choice, at least 0. Returns N of them; 1 where a token is certain. Raises
        ``ValueError`` unless ``scale`` is a finite number of at least 0.
        """
        check_number("guidance", scale)
        return tuple(float(scale) if token == IMAGE else 1.0 for token in self.certain)

    @property
    def _special(self) -> tuple[int, ...]:
        return (*(() if self.line is None else (self.line,)), *self.end)


def lumina(rows: int = 48, columns: int = 48) -> Layout:
    """Lumina-mGPT: a header of begin and two size tokens; lines; end of image, end of turn.

    ``rows``, ``columns``: tokens a side, even; 48 are 768 pixels. Returns a Layout with the ids of Chameleon's
    vocabulary. Raises ``ValueError`` for odd sides, which its size tokens cannot say.
    """
    for name, side in (("rows", rows), ("columns", columns)):
        if check_at_least(name, side, LUMINA_GRID) % LUMINA_GRID:
            raise ValueError(f"{name} is {side}; expected a multiple of {LUMINA_GRID}, which one size token counts")
    header = CHAMELEON_BEGIN, *(LUMINA_SIZE + side // LUMINA_GRID for side in (rows, columns))
    return Layout(CHAMELEON_IMAGE, rows, columns, LUMINA_LINE, (CHAMELEON_END, LUMINA_STOP), header)


def anole() -> Layout:
    """Anole: begin as the header, 32 rows of 32 tokens without ends of lines, end of image.

    Guidance starts from a text that holds nothing but the begin of an image.

    Returns a Layout with the ids of Chameleon's vocabulary. See Chern et al., arXiv 2407.06135;
    ``ImageDecoder._split_inputs_for_cfg`` in ``chameleon/inference/chameleon.py`` of github.com/GAIR-NLP/anole at
    af563fa.
    """
    header, null = (CHAMELEON_BEGIN,), (CHAMELEON_START, CHAMELEON_BEGIN)
    return Layout(CHAMELEON_IMAGE, ANOLE_SIDE, ANOLE_SIDE, None, (CHAMELEON_END,), header, null)


def emu3(rows: int = EMU3_SIDE, columns: int = EMU3_SIDE) -> Layout:
    """Emu3: lines; end of frame, end of image, end of turn; its header is text, so its processor writes it.

    ``rows``, ``columns``: tokens a side; 90 at 720 pixels. Returns a Layout with the ids of Emu3's vocabulary. Raises
    ``ValueError`` for a side below 1.
    """
    return Layout(EMU3_IMAGE, rows, columns, EMU3_LINE, (EMU3_FRAME, EMU3_END, EMU3_STOP))
