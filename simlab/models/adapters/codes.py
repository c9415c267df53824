"""Which entry of its codebook an image token stands for, as the names in a vocabulary say.

Not the id less the first: a tokenizer numbers its names in an order of its own. A table over a codebook, such as the
neighbours of LANTERN, is over the tokens that a decoder sees, so its vectors must be put in their order first.

Sources: ``chameleon/inference/vocab.py`` of github.com/facebookresearch/chameleon at dbbe47f (``VocabTranslation``),
``lumina_mgpt/data/item_processor.py`` of github.com/Alpha-VLLM/Lumina-mGPT at 104abe4 (``decode_image``, which goes by
the names), ``emu3/mllm/processing_emu3.py`` of github.com/baaivision/Emu3 at f6ea9aa (``visual_template``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

CHAMELEON = re.compile(r"IMGIMG([A-J]+)Z")  # digits are letters, A for 0
EMU3 = re.compile(r"<\|visual token (\d+)\|>")
DIGITS = str.maketrans("ABCDEFGHIJ", "0123456789")


def chameleon_codes(names: Mapping[str, int]) -> dict[int, int]:
    """The entry of the codebook of each id of a Chameleon, Lumina-mGPT or Anole; ``IMGIMGBCZ`` is entry 12.

    ``names`` are the ids of a vocabulary by their names. Raises ``ValueError`` where two stand for one entry.
    """
    return _codes(names, CHAMELEON)


def emu3_codes(names: Mapping[str, int]) -> dict[int, int]:
    """The same of an Emu3; ``<|visual token 000012|>`` is entry 12."""
    return _codes(names, EMU3)


def vectors_by_token(vectors: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """The vectors of a codebook in the order of tokens.

    ``vectors``: ``float[n, d]``, by entry. ``entries``: ``int[V]``, of each token; -1 for a token that is of no image.
    Returns ``float[V, d]``. Tokens of no image are farther from all others than these are from one another, so that by
    distance they are nobody's near neighbours. Raises ``ValueError`` for an entry that the codebook has not.
    """
    vectors, entries = np.asarray(vectors, dtype=np.float64), np.asarray(entries)
    if entries.max(initial=-1) >= len(vectors):
        raise ValueError(f"entries go up to {entries.max()}; expected those of a codebook of {len(vectors)}")
    placed, others = vectors[entries], entries < 0
    apart = 4 * max(1.0, float(np.linalg.norm(vectors, axis=1).max()))
    placed[others] = 0.0
    placed[others, 0] = apart * np.arange(1, 1 + others.sum())
    return placed


def _codes(names: Mapping[str, int], pattern: re.Pattern[str]) -> dict[int, int]:
    matches = ((id, pattern.fullmatch(name)) for name, id in names.items())
    codes = {id: int(match[1].translate(DIGITS)) for id, match in matches if match}
    if len(set(codes.values())) < len(codes):
        raise ValueError(f"{len(codes)} image tokens stand for {len(set(codes.values()))} entries; expected one each")
    return codes
