"""Tokens that are points of a codebook in clusters: near tokens are nearly interchangeable, in every context.

The query is a mean of a vector of the position and the embeddings of the last few tokens, each under its own rotation;
a token's logit is -|e(v) - query|^2 / temperature. So the assumption of relaxed rules holds: neighbours in the codebook
have about the same probability.
"""

from __future__ import annotations

import numpy as np

from simlab.checks import check_at_least, check_number, line_or_grid
from simlab.processes.embedded import Embedded, directions, rotations
from simlab.processes.pair import Pair
from simlab.processes.past import Past
from simlab.processes.streams import Stream, generator


def codebook_pair(
    vocabulary: int = 4096,
    length: int = 256,
    dimension: int = 8,
    clusters: int = 64,
    spread: float = 0.3,
    order: int = 2,
    temperature: float = 0.2,
    draft_noise: float = 0.3,
    shape: tuple[int, int] | None = None,
    seed: int = 0,
    precision: str = "float64",
) -> Pair:
    """A target, a draft and their codebook.

    Parameters
    ----------
    vocabulary, length, dimension
        V >= 2, N >= 1 and d >= 1.
    clusters, spread
        Tokens lie around this many random unit vectors, 1 to V, at about the distance ``spread``, 0 to 100.
    order
        How many tokens a query is made of, >= 1.
    temperature
        Above 0; less makes rows more peaked.
    draft_noise
        >= 0: the draft's query is the target's plus this much of another one, which sees the same tokens through
        other rotations, scaled back to the same length. TV grows from 0 with it.
    shape
        The grid (rows, columns); one row by default.

    Raises
    ------
    ValueError
        For a value outside its range.
    """
    check_at_least("vocabulary", vocabulary, 2)
    check_at_least("dimension", dimension, 1)
    if check_at_least("clusters", clusters, 1) > vocabulary:
        raise ValueError(f"clusters is {clusters}; expected at most {vocabulary}, the vocabulary")
    check_at_least("order", order, 1)
    check_number("spread", spread, 0, 100)
    check_number("temperature", temperature, 1e-6)
    check_number("draft_noise", draft_noise)
    shape = line_or_grid(length, shape)

    random = generator(seed, Stream.CODEBOOK)
    centres = directions(random.standard_normal((clusters, dimension)))
    around = random.standard_normal((vocabulary, dimension)) * (spread / np.sqrt(dimension))
    codebook = centres[random.permutation(vocabulary) % clusters] + around

    target, other = (
        _past(length, order, dimension, generator(seed, maps), generator(seed, content)).scaled(
            np.full(length, 2 / temperature)
        )
        for maps, content in ((Stream.MAPS, Stream.CONTENT), (Stream.DRAFT_MAPS, Stream.DRAFT_CONTENT))
    )
    bias = -(codebook**2).sum(axis=1) / temperature
    return Pair(
        Embedded(codebook, bias, target, shape, precision),
        Embedded(codebook, bias, target.mixed(other, draft_noise), shape, precision),
        codebook,
    )


def _past(length: int, order: int, dimension: int, maps: np.random.Generator, content: np.random.Generator) -> Past:
    """The mean of a unit vector of the position and the last tokens, scaled so that its length is about 1 too."""
    share = 1 / np.sqrt(order + 1)
    places = np.arange(length)[:, None] - np.arange(1, order + 1)
    return Past(
        content=share * directions(content.standard_normal((length, dimension))),
        places=np.maximum(places, -1),
        maps=rotations(maps, order, dimension),
        near=np.full(length, share),
        far_map=np.zeros((dimension, dimension)),
        far=np.zeros(length),
        signs=np.zeros(length),
    )
