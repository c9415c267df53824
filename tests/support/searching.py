"""What the search of claims answers."""

from __future__ import annotations

from theory.claims.registry import by_words
from theory.words import found


def answers(question: str) -> list[str]:
    """The ids of the claims that answer a question, best first; none where no word of it is known."""
    return [id for id, _ in found(by_words(), question)]
