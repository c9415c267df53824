"""Verifiers that are published as code and not as a package, taken from a checkout that the user has.

Such code often needs a library at one old version, or does not compile where tabs and spaces are mixed. So only the
definitions that verify are taken from the file, tabs written as four spaces, and what they need is given to them. They
are changed in nothing else; coins come from the generator of the contract.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.adapters.tables import Model, drafted, ended
from simlab.certify.adapters.torch_random import drawing

TAB = 4  # columns
GAMMA = 2  # drafts at a time, of loops
SHIFT = 10.0  # the largest logit, for code that looks at ratios of logits


@dataclass(frozen=True)
class Published:
    """A verifier in a repository: ``make`` gets a function of the checkout's folder that looks its definitions up."""

    name: str
    contract: str
    about: str
    repository: str
    file: str
    make: Callable[[Path], Any]

    def callable(self, checkout: Path) -> Any:
        """The callable of the contract; raises ``ValueError`` where the checkout has no such file."""
        path = checkout / self.file
        if not path.is_file():
            raise ValueError(f"{checkout} has no file {self.file}; expected a checkout of {self.repository}")
        return self.make(path)


def commit_of(checkout: Path) -> str:
    """The commit of a checkout; raises ``ValueError`` where git knows none."""
    found = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise ValueError(f"{checkout} is no checkout of git; expected one, whose commit can be named")
    return found.stdout.strip()


def definitions(path: Path, names: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The functions and classes called ``names`` of a file, which see ``given``; raises ``ValueError`` if one is not
    there."""
    tree = ast.parse(path.read_text(encoding="utf-8").expandtabs(TAB))
    kept = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names]
    if missing := set(names) - {node.name for node in kept}:
        raise ValueError(f"{path} has no {', '.join(sorted(missing))}; expected {', '.join(names)}")
    namespace: dict[str, Any] = dict(given)
    future = ast.parse("from __future__ import annotations").body  # their annotations are not looked up
    exec(compile(ast.Module([*future, *kept], []), str(path), "exec"), namespace)
    return namespace


def _logits(rows: Array) -> Any:
    import torch

    return torch.from_numpy(rows).log().float()


def hierarchical(path: Path, **mode: Any) -> Any:
    """``_speculative_sampling`` of the fork of transformers, on one path of drafts."""
    import torch

    found = definitions(path, ("_speculative_sampling",), {"torch": torch, "F": torch.nn.functional})
    run, done = found["_speculative_sampling"], torch.zeros(1, dtype=torch.bool)

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        with drawing(rng):
            tokens, *_ = run(
                torch.from_numpy(drafts)[None],
                _logits(q)[None],
                len(drafts),
                _logits(p)[None],
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
        logits = _logits(p)
        logits = (logits - logits.max() + SHIFT).expand(len(candidates), 2, -1)
        more = dict(options)
        if drafts_have_rows:
            own = torch.from_numpy(q[candidates])
            more["retrieve_probs"] = torch.stack([torch.ones_like(own), own], dim=1)
        with drawing(rng):
            best, accepted, row = found[name](logits, paths, *before, lambda tokens, scores: scores, **more)
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


def jacobi_tree(path: Path, nodes: int = 8, width: int = 2, depth: int = 3) -> Any:
    """``SJDPACSpeculativeSampler``, on the tree of ``nodes`` tokens that its file makes, the last committed one first.

    What is between two calls of it is written out: the path that it takes is committed, and the token behind it, below
    which the tree is filled with the tokens that it returns. All tokens are those of an image. The first tree repeats
    no candidate, in the authors' favour: theirs does, which is rare where there are thousands of tokens.
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
            drawn = torch.multinomial(torch.ones(paths.shape[1], size), width).T
            rows = torch.full((1, paths.shape[1], size), 1 / size)
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
        best, accepted = accept(0.7 * _logits(p).clamp(min=-80).expand(len(children), 2, -1), paths, 0.7)
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
            draft_probs=given["logits_to_probs"](_logits(q)[None], 1.0),
        )
        with drawing(rng):
            found = run(
                target_model=lambda **asked: SimpleNamespace(logits=_logits(p)[None]),
                proposal=proposal,
                position_ids=torch.arange(len(drafts) + 1)[None],
                start=0,
                past_key_values_target=None,
                temperature=1.0,
                max_proposal_tokens=len(drafts),
            )
        return [int(token) for token in found.committed_tokens[0].tolist()]

    return verify


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
        import torch

        ends = range(len(tokens) - last + 1, len(tokens) + 1)
        rows = [self.pmf(tuple(token - self.shift for token in tokens[1:end])) for end in ends]
        return torch.from_numpy(np.pad(rows, ((0, 0), (self.shift, 0)))).log().float()[None]

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


HSD = "ZhouYuxuanYX/Hierarchical-Speculative-Decoding"
SCD = "junhyukso/SCD"
FORK = "transformers/generation/utils.py"

PUBLISHED: dict[str, Published] = {
    each.name: each
    for each in (
        Published(
            "hierarchical",
            "verify",
            "Hierarchical verification: `_speculative_sampling` with `backward` and `clever`.",
            HSD,
            FORK,
            lambda path: hierarchical(path, backward=True, clever=True),
        ),
        Published(
            "hierarchical-blockwise",
            "verify",
            "`_speculative_sampling` with `blockwise`: block verification, which it has for comparison.",
            HSD,
            FORK,
            lambda path: hierarchical(path, blockwise=True),
        ),
        Published(
            "eagle",
            "verify_candidates",
            "`evaluate_posterior` of its trees, on one family of children.",
            "SafeAILab/EAGLE",
            "eagle/model/utils.py",
            tree_posterior,
        ),
        Published(
            "mars",
            "verify_candidates",
            "`evaluate_posterior` with its relaxation, the largest logit being 10.",
            "5SSjw/MARS",
            "mars/model/utils.py",
            lambda path: tree_posterior(path, drafts_have_rows=True),
        ),
        Published(
            "mars-strict",
            "verify_candidates",
            "`evaluate_posterior` with a threshold that no ratio of logits reaches: its relaxation is off.",
            "5SSjw/MARS",
            "mars/model/utils.py",
            lambda path: tree_posterior(path, drafts_have_rows=True, relaxation_threshold=float("inf")),
        ),
        Published(
            "cactus",
            "verify",
            "Acceptance and residual of `CactusRejectionSampler` with delta = 0.05, which is meant to be lossy.",
            "MANGA-UOFA/Cactus",
            "cactus/cactus.py",
            cactus,
        ),
        Published(
            "deepspec",
            "verify",
            "`verify_draft_tokens` at temperature 1, given the float32 rows that it declares for its drafts.",
            "deepseek-ai/DeepSpec",
            "deepspec/eval/base_evaluator.py",
            draft_tokens,
        ),
        Published(
            "scd-maximal",
            "decode",
            "`SpeculativeSampler` with maximal coupling: drafts behind the first rejection are verified too.",
            SCD,
            "lumina1/scheduler/jacobi_iteration_lumina_mgpt_SCDMC.py",
            jacobi,
        ),
        Published(
            "scd-first-rejection",
            "decode",
            "`SpeculativeSampler` of the script with Gumbel noise, which stops at the first rejection; here drafts "
            "behind it have noise of their own in each call.",
            SCD,
            "lumina1/scheduler/jacobi_iteration_lumina_mgpt_GS.py",
            jacobi,
        ),
        Published(
            "sjd",
            "decode",
            "`SpeculativeSampler` of its Jacobi loop, four tokens a call.",
            "tyshiwo1/Accelerating-T2I-AR-with-SJD",
            "scheduler/jacobi_iteration_lumina_mgpt.py",
            jacobi,
        ),
        Published(
            "sjd-pac",
            "decode",
            "`SJDPACSpeculativeSampler`, eight tokens a call: a tree of two candidates at two positions, and a draft "
            "behind it.",
            "KangJialiang/SJD-PAC",
            "scheduler/sjd_pac_iteration_lumina_mgpt.py",
            jacobi_tree,
        ),
        Published(
            "lantern-strict",
            "verify_candidates",
            "`evaluate_posterior` of its drafters, which does not relax, on one family of children.",
            "jadohu/LANTERN",
            "models/drafters/utils.py",
            tree_posterior,
        ),
        Published(
            "vvs",
            "verify_candidates",
            "`evaluate_posterior_v2` of its loop, in a call that skips no verification and does not relax.",
            "HyattDD/VVS",
            "models/utils_llamagen.py",
            lambda path: tree_posterior(path, name="evaluate_posterior_v2", before=(0,)),
        ),
        Published(
            "medusa-typical",
            "verify_candidates",
            "`evaluate_posterior` with its typical acceptance, which is meant to be lossy, on one family of children.",
            "FasterDecoding/Medusa",
            "medusa/model/utils.py",
            typical,
        ),
        Published(
            "llm-speculative-sampling",
            "decode",
            "`speculative_sampling_v2`, two drafts at a time.",
            "feifeibear/LLMSpeculativeSampling",
            "sampling/speculative_sampling.py",
            loop_over_sequences,
        ),
        Published(
            "romsto",
            "decode",
            "`speculative_generate` with its multinomial processor, two drafts at a time.",
            "romsto/Speculative-Decoding",
            "sampling/speculative_decoding.py",
            generation,
        ),
        Published(
            "gpt-fast",
            "decode",
            "Steps of `speculative_decode`, two drafts at a time.",
            "meta-pytorch/gpt-fast",
            "generate.py",
            fast,
        ),
    )
}
