"""Operators of one block: ``chain_uniforms(p, q, drafts, uniforms, uniform) -> tokens`` and its kin.

``p[gamma + 1, V]``, ``q[gamma, V]`` and ``drafts[gamma]`` as in ``verify``; ``uniforms[gamma]`` are the coins of the
drafts. The token that ends the block is drawn with ``uniform``, or with noise ``[gamma + 1, V]``, a row for each
position it can be at. ``chain_tokens`` is not given q: a draft counts as the only one there could be, so that it is
accepted with p, and the law of what is emitted is right wherever drafts come from.
"""

from __future__ import annotations

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.layouts import Arguments, Generator, Layout, race


def _rows(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {
        "p": arrays.rows(p),
        "q": arrays.rows(q),
        "drafts": arrays.whole(drafts),
        "uniforms": arrays.uniforms(rng.random(len(drafts))),
    }


def _uniforms(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return _rows(arrays, p, q, drafts, rng) | {"uniform": arrays.uniforms(rng.random())}


def _exponential(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return _rows(arrays, p, q, drafts, rng) | {"exponential": arrays.exponential(race(rng, arrays, *p.shape))}


def _gumbel(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return _rows(arrays, p, q, drafts, rng) | {"gumbel": arrays.gumbel(race(rng, arrays, *p.shape))}


def _tokens(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {name: one for name, one in _uniforms(arrays, p, q, drafts, rng).items() if name != "q"}


COINS = "real(p), real(q), whole(drafts), coins(rng.random(len(q)))"
UNIFORMS = Layout("chain_uniforms", _uniforms, written=f"{COINS}, coins(rng.random())")
EXPONENTIAL = Layout(
    "chain_exponential", _exponential, written=f"{COINS}, noise(exponential(rng, p.shape))", noisy=True
)
GUMBEL = Layout("chain_gumbel", _gumbel, written=f"{COINS}, noise(-np.log(exponential(rng, p.shape)))", noisy=True)
TOKENS = Layout(
    "chain_tokens",
    _tokens,
    written="real(p), whole(drafts), coins(rng.random(len(drafts))), coins(rng.random())",
    scored=False,
)
