"""Compile kernels once, before worker processes or a user need them; Numba keeps them beside the files.

``python -m experiments.verification.kernels`` compiles those that ``simlab generate`` and ``simlab compare`` run over
the model that comes along; it needs torch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simlab import continuous
from simlab.continuous.compiled import simulate as simulate_continuous
from simlab.decoders import Autoregressive, Block, Jacobi, Sjd, SjdPac, SpeculativeDecoder
from simlab.decoders.compiled import simulate
from simlab.processes import make_process
from simlab.randomness import Tape
from simlab.rules import Amplify, Speculative
from simlab.rules.compiled import compiled_step

DECODERS = (Sjd(2), SjdPac(2, candidates=2, depth=1), Jacobi(2), SpeculativeDecoder(2), Block(2), Autoregressive())
WITH_OTHER_RULES = (Sjd(2), SpeculativeDecoder(2))
DRAWN_BY = (  # methods of a model, by what is run first; no other has a kernel that none of these has
    *("ar", "sjd-ac", "speculative", "eagle", "sjd-pac", "jacobi", "sjd-block", "sjd-block-tree", "sjd-pp"),
    *("sjd-pp-newest", "sjd-vp", "sjd-vp-newest", "lantern", "gsd", "sjd-pv", "sjd2", "vvs"),
)


def compile_discrete() -> None:
    """Run every kernel of discrete tokens on something small, with the lossless rule, which has a type of its own, and
    where verification has others with one of them."""
    pair = make_process("local", vocabulary=16, shape=(2, 8), entropy=2.0, jitter=0.1)
    for rule, decoders in ((Speculative(), DECODERS), (Amplify(1.5), WITH_OTHER_RULES)):
        for decoder in decoders:
            simulate(decoder, pair.target, rule, Tape(0, 1), pair.draft if decoder.needs_draft else None)
        compiled_step(rule, np.array([0.5, 0.5]), np.array([0.25, 0.75]))


def compile_continuous() -> None:
    """Run every kernel of continuous tokens on something small."""
    chains = continuous.affine(2, sd=0.5), continuous.affine(2, sd=0.7)
    for each in (continuous.Truncating(2), continuous.InPlace(2)):
        simulate_continuous(each, *chains, continuous.make_rule("last-step"), Tape(0, 1))


def compile_drawing() -> Iterator[str]:
    """Draw an image by every kernel that has a model to draw with: the names of the methods, each before it is run."""
    from experiments.models.discrete.kind import Discrete
    from experiments.models.distortion import contexts
    from simlab.models.process.sampling import Sampling

    models, label = Discrete(), np.zeros(1, np.int64)
    for name in DRAWN_BY:
        yield name
        method = models.method(name, {})
        models.draw(method, label, 0, Sampling(), 1)
        if not method.lossless:  # whose distortion simlab compare measures
            contexts(models, method, label, 0, Sampling())


if __name__ == "__main__":
    for name in compile_drawing():
        print(f"compiling kernels, once: {name}", flush=True)
