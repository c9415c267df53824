"""Published code that is called once a block: verifiers of one path of drafts, and of a root's children.

Coins come from the generator of the contract.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.checkouts.definitions import definitions
from simlab.certify.adapters.tables import logits
from simlab.certify.adapters.torch_random import drawing

SHIFT = 10.0  # the largest logit, for code that looks at ratios of logits


def hierarchical(path: Path, **mode: Any) -> Any:
    """``_speculative_sampling`` of the fork of transformers, on one path of drafts."""
    import torch

    found = definitions(path, ("_speculative_sampling",), {"torch": torch, "F": torch.nn.functional})
    run, done = found["_speculative_sampling"], torch.zeros(1, dtype=torch.bool)

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        with drawing(rng):
            tokens, *_ = run(
                torch.from_numpy(drafts)[None],
                logits(q)[None],
                len(drafts),
                logits(p)[None],
                done,
                stop=lambda tokens, scores: False,
                **mode,
            )
        return [int(token) for token in tokens[0].tolist()]

    return verify


def tree_posterior(
    path: Path,
    drafts_have_rows: bool = False,
    name: str = "evaluate_posterior",
    before: tuple[Any, ...] = (),
    **options: Any,
) -> Any:
    """``evaluate_posterior`` on a root with K children, and the token that its caller draws if none is accepted.

    ``drafts_have_rows``: whether it is given the probability that the draft has for each child. ``name`` is what it is
    called, and ``before`` what it takes before the processor of logits.
    """
    import torch

    given = {"torch": torch, "get_logits_collector": _NoCollector, "collector": _NoCollector()}
    found = definitions(path, (name,), given)

    def verify(p: Array, q: Array, candidates: Array, rng: np.random.Generator) -> int:
        found["random"] = rng  # its coins: random.random()
        children = torch.from_numpy(candidates)
        paths = torch.stack([torch.zeros_like(children), children], dim=1)
        scores = logits(p)
        scores = (scores - scores.max() + SHIFT).expand(len(candidates), 2, -1)
        more = dict(options)
        if drafts_have_rows:
            own = torch.from_numpy(q[candidates])
            more["retrieve_probs"] = torch.stack([torch.ones_like(own), own], dim=1)
        with drawing(rng):
            best, accepted, row = found[name](scores, paths, *before, lambda tokens, scores: scores, **more)
            if int(accepted):
                return int(candidates[int(best)])
            return int(torch.multinomial(row, 1))

    return verify


class _NoCollector:
    """In place of what the code keeps for plots."""

    def record(self, **values: Any) -> None: ...

    def record_accepted(self) -> None: ...

    def clear_pending(self) -> None: ...


def cactus(path: Path, delta: float = 0.05) -> Any:
    """The acceptance and the residual of ``CactusRejectionSampler``; the loop around them, which is vLLM's, is written
    out."""
    import torch

    given = {"torch": torch, "Optional": None, "Dict": None, "WrappedRejectionSampler": object}
    sampler = definitions(path, ("solve_constraint", "CactusRejectionSampler"), given)["CactusRejectionSampler"]
    me = SimpleNamespace(delta=delta, _create_uniform_samples=lambda seeded, batch, k, device: torch.rand(batch, k + 1))

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        target, draft = (torch.from_numpy(rows).float()[None] for rows in (p, q))
        tokens = torch.from_numpy(drafts)[None]
        with drawing(rng):
            kept = sampler._get_accepted(me, target[:, :-1], draft, tokens, None)[0].tolist()
            count = kept.index(False) if False in kept else len(kept)
            row = target[0, -1]
            if count < len(kept):
                row = sampler._get_recovered_probs(me, target[:, :-1], draft, tokens)[0, count]
            return [*drafts[:count].tolist(), int(torch.multinomial(row, 1))]

    return verify


def typical(path: Path) -> Any:
    """Medusa's ``evaluate_posterior`` as it is called by default; where no child is accepted comes the likeliest token.

    At temperature 0.7, which is its default: p is sharpened as much as that flattens it.
    """
    import torch

    names = ("evaluate_posterior", "get_typical_posterior_mask", "get_nucleus_posterior_mask")
    accept = definitions(path, names, {"torch": torch, "F": torch.nn.functional})["evaluate_posterior"]

    def verify(p: Array, q: Array, candidates: Array, rng: np.random.Generator) -> int:
        children = torch.from_numpy(candidates)
        paths = torch.stack([torch.zeros_like(children), children], dim=1)
        best, accepted = accept(0.7 * logits(p).clamp(min=-80).expand(len(children), 2, -1), paths, 0.7)
        return int(candidates[int(best)] if int(accepted) else p.argmax())

    return verify


def draft_tokens(path: Path) -> Any:
    """``verify_draft_tokens`` of an evaluator, with the functions that its package draws with, temperature 1."""
    import torch

    drawing_functions = path.parents[1] / "utils" / "sampling.py"
    if not drawing_functions.is_file():
        raise ValueError(f"there is no file {drawing_functions}; expected the functions that {path.name} draws with")
    names = ("logits_to_probs", "sample_from_probs", "sample_residual", "gather_token_probs")
    given = {**definitions(drawing_functions, names, {"torch": torch}), "VerificationResult": SimpleNamespace}
    run = definitions(path, ("verify_draft_tokens",), given)["verify_draft_tokens"]

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        first = torch.zeros((1, 1), dtype=torch.long)  # the token before, which is not looked at
        proposal = SimpleNamespace(
            draft_token_count=len(drafts),
            verify_input_ids=torch.cat([first, torch.from_numpy(drafts)[None]], dim=1),
            draft_probs=given["logits_to_probs"](logits(q)[None], 1.0),
        )
        with drawing(rng):
            found = run(
                target_model=lambda **asked: SimpleNamespace(logits=logits(p)[None]),
                proposal=proposal,
                position_ids=torch.arange(len(drafts) + 1)[None],
                start=0,
                past_key_values_target=None,
                temperature=1.0,
                max_proposal_tokens=len(drafts),
            )
        return [int(token) for token in found.committed_tokens[0].tolist()]

    return verify
