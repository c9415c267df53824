"""A process on a grid that imitates image models: flat pmfs, local, and easy in some regions and hard in others.

A token is a point of a codebook on the unit sphere, and its logit at position i is hardness_i <e(v), h_i>
(:mod:`simlab.processes.embedded`). Three terms make h:

* content: a smooth field of unit vectors over the grid. It is the image: what a prompt decides beforehand;
* neighbours: the tokens to the left and above within a radius, each through a rotation that belongs to its offset, with
  weight ``locality`` to the power of its distance less 1;
* the floor: all tokens before, each with the same weight and a sign of its position, through one more rotation.

Content and neighbours have variances 1 - ``coupling`` and ``coupling``, whatever the locality; the floor has
``floor`` squared on top. Hardness is e to the power of ``heterogeneity`` times a smooth field of mean 0 and
variance 1, times one number of the model, by which rows have the mean entropy ``entropy``.

The defaults are close to what is printed of Lumina-mGPT: log token probabilities of mean -4.90 and standard
deviation 2.35 (SJD, Table 11); steps that commit one token make up nearly half, with a long tail of others (SJD-PAC,
Fig. 1); SJD of window 32 saves a factor of 2.31 (SJD-PAC, Table 2).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from simlab.checks import check_at_least, check_number, check_shape
from simlab.processes import rows
from simlab.processes.base import Process
from simlab.processes.embedded import Embedded, directions, rotations
from simlab.processes.jittered import Jittered
from simlab.processes.pair import Pair
from simlab.processes.past import Past
from simlab.processes.streams import Stream, generator

WAVES = 64  # plane waves in a smooth field
SAMPLE = 256  # rows that the entropy is measured on


def local_pair(
    vocabulary: int = 1024,
    shape: tuple[int, int] = (16, 16),
    dimension: int = 16,
    entropy: float = 7.0,
    coupling: float = 0.75,
    locality: float = 0.3,
    heterogeneity: float = 1.0,
    floor: float = 0.3,
    radius: int = 3,
    smoothness: float = 3.0,
    jitter: float = 0.0,
    draft_noise: float = 0.3,
    seed: int = 0,
    image: int = 0,
    precision: str = "float64",
) -> Pair:
    """A target, a draft of it, and the codebook.

    Parameters
    ----------
    vocabulary, shape, dimension
        V >= 2, the grid (rows, columns), and d >= 1.
    entropy
        The mean entropy of rows in bits, up to log2 V: the mean over images, which differ. The mean log token
        probability is about -ln(2) times this.
    coupling, locality
        0 to 1: the neighbours' share against content, and the fall of their weight with every unit of distance.
    heterogeneity
        0 to 10: the standard deviation of log hardness over regions.
    floor
        0 to 100: the size of the long-range term against the two others together.
    radius, smoothness
        How far away a neighbour may be (>= 1), and the correlation length of the fields (above 0), in tokens.
    jitter
        The standard deviation of noise on the logits that every call has anew (:mod:`simlab.processes.jittered`). With
        it, a row depends on the call, and there is no one law that a decoder could be lossless to.
    draft_noise
        >= 0: the draft's h is the target's plus this much of another one, which sees the same tokens through other
        rotations and another content, scaled back to the same size. TV grows from 0 with it.
    seed, image
        The model (codebook and rotations), and the image it draws (content and hardness).

    Raises
    ------
    ValueError
        For a value outside its range.
    """
    shape = check_shape(shape)
    rows.check_entropy(entropy, vocabulary)
    check_at_least("dimension", dimension, 1)
    check_number("coupling", coupling, 0, 1)
    check_number("locality", locality, 0, 1)
    check_number("heterogeneity", heterogeneity, 0, 10)
    check_number("floor", floor, 0, 100)
    check_at_least("radius", radius, 1)
    check_number("smoothness", smoothness, 1e-3)
    check_number("draft_noise", draft_noise)

    field = _smooth(generator(seed, Stream.HARDNESS, image), shape, smoothness, 1)[:, 0]
    model = _model(vocabulary, dimension, entropy, coupling, locality, heterogeneity, floor, radius, seed)
    hardness = model.scale * np.exp(heterogeneity * field)
    target, other = (
        _past(eye, shape, coupling, floor, _smooth(generator(seed, stream, image), shape, smoothness, dimension), seed)
        for eye, stream in ((model.target, Stream.CONTENT), (model.draft, Stream.DRAFT_CONTENT))
    )
    pasts = (past.scaled(hardness) for past in (target, target.mixed(other, draft_noise)))
    processes: list[Process] = [
        Embedded(model.codebook, np.zeros(vocabulary), past, shape, precision) for past in pasts
    ]
    if jitter != 0:
        processes = [Jittered(process, jitter, seed, stream) for stream, process in enumerate(processes)]
    return Pair(processes[0], processes[1], model.codebook)


class _Eye(NamedTuple):
    """How the tokens before a position are seen."""

    offsets: np.ndarray  # int[O, 2]: (rows, columns) to the neighbours
    weights: np.ndarray  # [O]
    maps: np.ndarray  # [O, d, d]
    far_map: np.ndarray  # [d, d]


class _Model(NamedTuple):
    """What all images of a model share."""

    codebook: np.ndarray  # [V, d]
    target: _Eye
    draft: _Eye
    scale: float


@lru_cache(maxsize=4)
def _model(
    vocabulary: int,
    dimension: int,
    entropy: float,
    coupling: float,
    locality: float,
    heterogeneity: float,
    floor: float,
    radius: int,
    seed: int,
) -> _Model:
    """The model of these parameters; kept, because its scale takes a while to find."""
    codebook = directions(generator(seed, Stream.CODEBOOK).standard_normal((vocabulary, dimension)))
    target, draft = (
        _eye(generator(seed, maps), dimension, locality, radius) for maps in (Stream.MAPS, Stream.DRAFT_MAPS)
    )

    # h at places far from the edges of many images, where tokens are random; hardness at its quantiles
    random = generator(seed, Stream.CALIBRATION)
    content, far = (directions(random.standard_normal((SAMPLE, dimension))) for _ in range(2))
    tokens = random.integers(vocabulary, size=(SAMPLE, len(target.maps)))
    near = np.einsum("ko,kod,ode->ke", np.broadcast_to(target.weights, tokens.shape), codebook[tokens], target.maps)
    near /= np.linalg.norm(target.weights)
    seen = np.sqrt(1 - coupling) * content + np.sqrt(coupling) * near + floor * far
    hardness = np.exp(heterogeneity * scipy.special.ndtri((np.arange(SAMPLE) + 0.5) / SAMPLE))
    return _Model(codebook, target, draft, rows.sharpness(hardness[:, None] * (seen @ codebook.T), entropy))


def _eye(random: np.random.Generator, dimension: int, locality: float, radius: int) -> _Eye:
    """Neighbours before a position in raster order, by Euclidean distance; those of weight 0 are left out."""
    row, column = np.indices((radius + 1, 2 * radius + 1)) - radius
    distance = np.hypot(row, column)
    before = ((row < 0) | (column < 0)) & (distance <= radius)
    weights = np.where(before, locality ** np.maximum(distance - 1, 0), 0)
    offsets = np.argwhere(weights > 0) - radius
    *maps, far_map = rotations(random, len(offsets) + 1, dimension)
    return _Eye(offsets, weights[weights > 0], np.array(maps), far_map)


def _past(eye: _Eye, shape: tuple[int, int], coupling: float, floor: float, field: np.ndarray, seed: int) -> Past:
    """What makes h, before hardness: ``field[N, d]`` is the content, of any length."""
    rows, columns = shape
    length = rows * columns
    row, column = (np.indices(shape).reshape(2, -1, 1) + eye.offsets.T[:, None]).astype(np.int64)
    inside = (row >= 0) & (column >= 0) & (column < columns)
    size = np.sqrt((inside * eye.weights**2).sum(axis=1))  # at the edges there are fewer neighbours
    return Past(
        content=np.sqrt(1 - coupling) * directions(field),
        places=np.where(inside, row * columns + column, -1),
        maps=eye.weights[:, None, None] * eye.maps,
        near=np.sqrt(coupling) / np.where(size > 0, size, 1),
        far_map=eye.far_map,
        far=floor / np.sqrt(np.maximum(np.arange(length), 1)),
        signs=generator(seed, Stream.SIGNS).choice([-1.0, 1.0], length),
    )


def _smooth(random: np.random.Generator, shape: tuple[int, int], smoothness: float, channels: int) -> np.ndarray:
    """Normal fields ``[N, channels]`` of mean 0 and variance 1 with correlation e^-(distance/smoothness)^2/2.

    A sum of plane waves (Rahimi and Recht, "Random features for large-scale kernel machines", 2007), so that a
    smaller grid is a part of a larger one.
    """
    waves = random.standard_normal((2, WAVES)) / smoothness
    phases = random.uniform(0, 2 * np.pi, WAVES)
    amplitudes = random.standard_normal((WAVES, channels)) * np.sqrt(2 / WAVES)
    return np.cos(np.indices(shape).reshape(2, -1).T @ waves + phases) @ amplitudes
