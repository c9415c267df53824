"""Benchmarks of making rows of logits: the compiled form of sampling against the same in operations of torch.

Logits are normal with a deviation of 3, and guided; a window of 32 drafts over 256 tokens, and a tree of 73 nodes over
16384. One thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from experiments.bench.benchmark import Contender, Results, race, ratio
from experiments.bench.steps import one_thread

NAME = "sampling"
COMPILED, TORCH = "compiled", "torch"
SIZES = (33, 256, 100), (74, 16384, 2000)  # rows, V, k
SETTINGS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "softmax alone": lambda k: {},
    "top-k": lambda k: {"top_k": k},
    "top-k, top-p": lambda k: {"top_k": k, "top_p": 0.9},
    "top-p": lambda k: {"top_p": 0.9},
}
WANTED = {"top-k": 3.0, "top-p": 5.0}  # over the larger vocabulary


def sampling(quick: bool, watch: Callable[[str], None]) -> Results:
    """The ratios of rows a second."""
    results = Results()
    try:
        import torch
    except ImportError as error:
        results.notes.append(f"sampling left out: {error}; pip install 'simlab[torch]'")
        return results
    from simlab.models.process.sampling import Sampling

    with one_thread():
        for rows, vocabulary, k in SIZES[:1] if quick else SIZES:
            logits = 3 * torch.randn(2, rows, vocabulary, generator=torch.Generator().manual_seed(0))
            position = torch.arange(rows)[None]
            for name, settings in SETTINGS.items():
                what = f"{name}, {rows} rows, V = {vocabulary}"
                watch(f"{NAME}: {what}")
                how, work = Sampling(guidance=2.0, **settings(k)), {"rows": float(rows)}
                contenders = [
                    Contender(COMPILED, partial(how.rows, logits, position), work),
                    Contender(TORCH, partial(how.rows_by_torch, logits, position), work),
                ]
                times = race(NAME, what, contenders, 0.1 if quick else 3)
                least = WANTED.get(name) if vocabulary == SIZES[-1][1] else None
                results.add(times, ratio(times, COMPILED, TORCH, "rows", least))
    return results
