"""Texts to ids, by the tokenizers that models were published with."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from simlab.models.checkpoints import CheckpointError

Words = Callable[[str], list[int]]

# emu3/mllm/tokenization_emu3.py of github.com/baaivision/Emu3 at f6ea9aa
PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def read_words(file: Path) -> Words:
    """The tokenizer of a ``tokenizer.json``, without what it would put around a text.

    Raises :class:`CheckpointError` for a file that is missing or no such thing, ``ImportError`` without ``tokenizers``.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ImportError("texts need tokenizers; pip install 'simlab[engines]'") from None
    if not file.is_file():
        raise CheckpointError(f"{file}: there is no such file; expected the tokenizer of a model")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # whatever a broken file makes of the library
        raise CheckpointError(f"{file}: {error}; expected a tokenizer in JSON") from None
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def read_byte_pairs(ranks: Mapping[bytes, int]) -> Words:
    """The tokenizer of byte pairs as ``tiktoken`` has it: a piece of a text that has a rank is one token, and else the
    pair of least rank is joined first.

    Raises ``ImportError`` without ``regex``.
    """
    try:
        import regex  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError("texts need regex; pip install 'simlab[engines]'") from None
    pattern = regex.compile(PIECES)

    @lru_cache(maxsize=4096)
    def ids(piece: bytes) -> tuple[int, ...]:
        if piece in ranks:
            return (ranks[piece],)
        parts = [bytes([byte]) for byte in piece]
        while len(parts) > 1:
            joined = [ranks.get(left + right, len(ranks)) for left, right in pairwise(parts)]
            least = min(joined)
            if least == len(ranks):
                break
            place = joined.index(least)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return tuple(ranks[part] for part in parts)

    def words(text: str) -> list[int]:
        pieces = pattern.findall(unicodedata.normalize("NFC", text))
        try:
            return [id for piece in pieces for id in ids(piece.encode())]
        except KeyError as error:
            raise ValueError(f"{text!r} holds the byte {error}; expected those of the tokenizer") from None

    return words
