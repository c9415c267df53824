"""Published code that decodes whole sequences, or what is called between two steps of a loop.

Coins come from the generator of the contract.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.certify.adapters.checkouts.definitions import definitions
from simlab.certify.adapters.tables import Model, drafted, ended, logits
from simlab.certify.adapters.torch_random import drawing

GAMMA = 2  # drafts at a time


def jacobi(path: Path, window: int = 4) -> Any:
    """``SpeculativeSampler`` of a Jacobi loop, which verifies ``window`` tokens a call, the last committed one first.

    What is between two calls of it is written out: tokens up to the first rejection are committed, those behind stay in
    the window with the rows it returns, and new ones are uniform, declared as point masses.
    """
    import torch

    given = {"torch": torch, "F": torch.nn.functional}
    names = ("SpeculativeSampler", "prefix_matching_next_tokens")
    sampler, match = (definitions(path, names, given)[name] for name in names)

    def decode(model: Any, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        tokens: list[int] = []
        size = len(model(()))
        drafts, rows = torch.zeros((1, 0), dtype=torch.long), torch.zeros((1, 0, size))
        with drawing(rng):
            while len(tokens) < length:
                missing = window - 1 - drafts.shape[1]
                if missing:
                    new = torch.multinomial(torch.ones(missing, size), 1).T
                    rows = torch.cat([rows, torch.nn.functional.one_hot(new, size).float()], dim=1)
                    drafts = torch.cat([drafts, new], dim=1)
                ahead = [*tokens, *drafts[0].tolist()]
                after = [torch.from_numpy(model(tuple(ahead[: len(tokens) + i]))) for i in range(window)]
                p = torch.stack(after).float()
                last = torch.tensor([tokens[-1:] or [0]])
                count, committed, drafts, _, rows = match(
                    model_input_ids=torch.cat([last, drafts], dim=1),
                    next_tokens=torch.multinomial(p, 1).T,
                    next_token_scores=p[None],
                    input_token_scores=torch.cat([torch.zeros(1, 1, size), rows], dim=1),
                    prefix_token_sampler=sampler(
                        reject_sampling_relative_ids=torch.full((1,), -1),
                        reject_sampling_draft_token_logits=torch.zeros(1, size),
                        sampling_last_draft_token=torch.zeros(1, dtype=torch.long),
                    ),
                    all_collected_input_ids=last,
                )
                tokens += committed[0, : int(count)].tolist()
        return ended(tokens[:length], eos)

    return decode


def first_tree(size: int, columns: int, width: int) -> tuple[Any, Any]:
    """The candidates ``[width, columns]`` of the first call, and the rows ``[1, columns, size]`` declared for them.

    A column is drawn from its row without replacement, as the sampler takes it to be. The first is the token that is
    committed, which is no draft.
    """
    import torch

    rows = torch.full((columns, size), 1 / size)
    return torch.multinomial(rows, width).T, rows[None]


def jacobi_tree(path: Path, nodes: int = 8, width: int = 2, depth: int = 3) -> Any:
    """``SJDPACSpeculativeSampler``, on the tree of ``nodes`` tokens that its file makes, the last committed one first.

    What is between two calls of it is written out: the path that it takes is committed, and the token behind it, below
    which the tree is filled with the tokens that it returns. All tokens are those of an image. The first tree repeats
    no candidate: theirs does, which changes the law by itself, and is rare where there are thousands of tokens.
    """
    import torch

    names = ("SJDPACSpeculativeSampler", "setup_speculative_tree_buffers", "generate_tree_mask_and_retrieve")
    sampling, set_up, shape = map(definitions(path, names, {"torch": torch}).__getitem__, names)
    _, paths, places = shape(nodes, width, depth)
    above = {node: found[1 : j + 1] for found in paths.tolist() for j, node in enumerate(found) if node >= 0}

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        tokens: list[int] = []
        size, sampler = len(model(())), sampling()
        set_up(sampler, width, depth, "cpu")
        sampler.img_start, sampler.img_end, sampler.uni_val = 0, size, 1 / size
        with drawing(rng):
            drawn, rows = first_tree(size, paths.shape[1], width)
            while len(tokens) < length:
                tree = drawn.flatten()[places]
                after = [torch.from_numpy(model((*tokens, *tree[above[i]].tolist()))) for i in range(nodes)]
                drafts = torch.cat([tree, torch.tensor([-1])])[paths]  # none where a path has ended
                count, leaf, drawn, rows = sampler(
                    draft_tokens=drafts, draft_prob=rows, advanced_prob=torch.stack(after).float()[paths]
                )
                tokens += [*drafts[leaf, 1:count].tolist(), int(drawn[0, 0])]
        return ended(tokens[:length], eos)

    return decode


class _Net:
    """A model with logits after each token: of sequences, or of new tokens at places that it keeps itself.

    Token 0 stands before every sequence. ``shift``: how many tokens that never come are before the first one.
    """

    device, max_seq_length = "cpu", 1 << 20

    def __init__(self, pmf: Model, shift: int = 0) -> None:
        self.pmf, self.shift = pmf, shift
        self.config = SimpleNamespace(vocab_size=len(pmf(())) + shift, max_position_embeddings=1 << 20)
        self.seen: list[int] = []

    def rows(self, tokens: list[int], last: int) -> Any:
        """Those after each of the ``last`` tokens ``[1, last, V]``, as logits."""
        ends = range(len(tokens) - last + 1, len(tokens) + 1)
        rows = [self.pmf(tuple(token - self.shift for token in tokens[1:end])) for end in ends]
        return logits(np.pad(rows, ((0, 0), (self.shift, 0))))[None]

    def __call__(self, input_ids: Any, past_key_values: Any = None, use_cache: bool = False) -> Any:
        (tokens,) = input_ids.tolist()
        return SimpleNamespace(logits=self.rows(tokens, len(tokens)), past_key_values=None)


class _CachedNet(_Net):
    """Called with new tokens and their places, perhaps after a mask."""

    def __call__(self, *called: Any) -> Any:
        tokens, places = (values.flatten().tolist() for values in called[-2:])
        self.seen[places[0] :] = tokens
        return self.rows(self.seen, len(tokens))


def loop_over_sequences(path: Path) -> Any:
    """``speculative_sampling_v2``; its token 0 must not be drawn, so that tokens begin with 1."""
    import torch

    given: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    given["tqdm"] = lambda **_: nullcontext(SimpleNamespace(n=0, update=lambda count: None))
    given |= definitions(path.parent / "utils.py", ("norm_logits", "sample", "max_fn", "top_k_top_p_filter"), given)
    run = definitions(path, ("speculative_sampling_v2",), given)["speculative_sampling_v2"]

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        with drawing(rng):
            found = run(torch.zeros(1, 1, dtype=torch.long), _Net(drafted(model), 1), _Net(model, 1), length, GAMMA)
        return ended([token - 1 for token in found[0, 1:].tolist()][:length], eos)

    return decode


def generation(path: Path) -> Any:
    """``speculative_generate`` without a cache, drawing from the whole of a model."""
    import abc

    import torch

    given: dict[str, Any] = {
        "torch": torch,
        "F": torch.nn.functional,
        "abc": abc,
        "printing": None,
        "prune_cache": None,
    }
    names = ("LogitsProcessor", "GreedyProcessor", "MultinomialProcessor")
    given |= definitions(path.parents[1] / "utils" / "logits_processor.py", names, given)
    run = definitions(path, ("speculative_generate", "max_fn"), given)["speculative_generate"]

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        draw = given["MultinomialProcessor"](1.0)
        count = max(length, 3)  # with fewer it never drafts, and divides by the number of drafts
        options = {"gamma": GAMMA, "max_gen_len": count, "eos_tokens_id": -1 if eos is None else eos}
        with drawing(rng):
            found, _ = run([0], _Net(drafted(model)), _Net(model), logits_processor=draw, **options)
        return ended([int(token) for token in found[:length]], eos)

    return decode


class _Mask:
    """In place of a mask of blocks, which such models do not look at."""

    BLOCK_SIZE = (128,)
    mask_mod = None

    def __getitem__(self, places: Any) -> _Mask:
        return self


def fast(path: Path) -> Any:
    """Steps of gpt-fast's ``speculative_decode``, and what it calls."""
    import torch

    names = ("decode_n_tokens", "decode_one_token", "sample", "logits_to_probs", "multinomial_sample_one_no_sync")
    given = {"torch": torch, "create_block_mask": lambda *sizes, **more: _Mask()}
    step = definitions(path, (*names, "causal_mask", "model_forward", "speculative_decode"), given)[
        "speculative_decode"
    ]

    def decode(model: Model, length: int, rng: np.random.Generator, eos: int | None = None) -> list[int]:
        target, draft, tokens = _CachedNet(model), _CachedNet(drafted(model)), [0]
        with drawing(rng):
            while len(tokens) <= length and eos not in tokens[1:]:
                found = step(target, draft, torch.tensor(tokens[-1]), len(tokens) - 1, GAMMA, temperature=1.0)
                tokens += [int(token) for token in found]
        return ended(tokens[1:][:length], eos)

    return decode
