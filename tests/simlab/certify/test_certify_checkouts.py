"""Verifiers of published code, taken from a checkout: what is taken, how it is called, and what is written of it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.certification.pair import pair_document
from experiments.certification.published import INSTEAD
from experiments.cli.main import main
from simlab.arrays import Array
from simlab.certify.adapters.checkouts import loops
from simlab.certify.adapters.checkouts.definitions import definitions
from simlab.certify.adapters.checkouts.loops import jacobi, jacobi_tree
from simlab.certify.adapters.checkouts.registry import PUBLISHED, commit_of
from simlab.certify.adapters.checkouts.verifiers import draft_tokens
from simlab.decoders import make_decoder
from simlab.randomness import Tape
from simlab.rules import make_rule
from tests.support.adapters import SINGLE
from tests.support.certify import case_named, tv_of
from tests.support.cli import usage_error, written

pytestmark = pytest.mark.exact

# as published code has it: a line that is indented with tabs, and an import that nothing here has
TREE = """
import package_that_is_not_there


class Other:
    pass


def evaluate_posterior(logits: Missing, candidates, logits_processor, retrieve_probs=None, relaxation_threshold=0.9):
    row = torch.softmax(logits_processor(None, logits[0, 0]), dim=0)
    for j in range(len(candidates)):
\tx = candidates[j, 1].item()
\tif random.random() <= row[x]:
            return torch.tensor(j), 1, None
        row[x] = 0
        row = row / row.sum()
    return torch.tensor(0), 0, row
"""


# a loop of Jacobi's kind, in what its parts take and give
LOOP = """
class SpeculativeSampler:
    def __init__(self, reject_sampling_relative_ids, reject_sampling_draft_token_logits, sampling_last_draft_token):
        pass

    def __call__(self, draft_tokens, advanced_tokens, draft_prob, advanced_prob, all_collected_input_ids):
        size = draft_tokens.shape[1]
        for i in range(1, size):
            p, q, x = advanced_prob[0, i - 1], draft_prob[0, i], draft_tokens[0, i]
            kept = min(1.0, float(p[x] / q[x]))
            if int(torch.multinomial(torch.tensor([1 - kept, kept]), 1)):
                advanced_tokens[0, i - 1] = x
            else:
                advanced_tokens[0, i - 1] = torch.multinomial((p - q).clamp(min=0), 1)
                return [i], advanced_tokens, advanced_prob
        return [size], advanced_tokens, advanced_prob


def prefix_matching_next_tokens(
    model_input_ids, next_tokens, next_token_scores, input_token_scores, prefix_token_sampler, **more
):
    (count,), tokens, rows = prefix_token_sampler(
        model_input_ids, next_tokens, input_token_scores, next_token_scores, **more
    )
    return count, tokens[:, :count], tokens[:, count:], rows[:, :count], rows[:, count:]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    written(tmp_path, {PUBLISHED["eagle"].file: TREE.replace("\t", "    \t")})
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "code"]):
        subprocess.run([*git, *words], check=True)
    return tmp_path


def test_only_what_is_named_is_taken(checkout: Path) -> None:
    path = checkout / PUBLISHED["eagle"].file
    with pytest.raises(SyntaxError):
        compile(path.read_text(encoding="utf-8"), "file", "exec")
    found = definitions(path, ("evaluate_posterior",), {"given": 1})
    assert "Other" not in found
    assert callable(found["evaluate_posterior"])
    with pytest.raises(ValueError, match=r"has no gone; expected gone"):
        definitions(path, ("gone",), {})


def test_a_family_is_called_with_its_children(checkout: Path) -> None:
    pytest.importorskip("torch")
    case = case_named("verify_candidates", "two candidates of three tokens")
    assert tv_of(case, PUBLISHED["eagle"].callable(checkout)) < SINGLE


@pytest.mark.slow
def test_a_certificate_names_repository_and_commit(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("experiments.cli.certify.drawn", lambda out, command: True)  # without a page
    asked = ["certify", "eagle", "--checkout", str(checkout), "--budget", "0.2", "--out", str(tmp_path / "out")]
    assert main(asked) in (0, 3)
    document = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert shlex.split(document["command"])[:5] == ["simlab", *asked[:4]]
    assert document["commit"] == commit_of(checkout)
    assert document["repository"] == "SafeAILab/EAGLE"
    assert document["verdict"] in ("lossless", "inconclusive")


def test_a_folder_without_the_code_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert "expected --checkout with a checkout of it" in usage_error(["certify", "eagle", *out], capsys)
    other = usage_error(["certify", "transformers", "--checkout", str(tmp_path), *out], capsys)
    assert f"--checkout {tmp_path}: is for published code; expected one of hierarchical," in other
    told = usage_error(["certify", "eagle", "--checkout", str(tmp_path), *out], capsys)
    assert "is no checkout of git; expected one, whose commit can be named" in told
    with pytest.raises(ValueError, match=r"has no file eagle/model/utils.py; expected a checkout of SafeAILab/EAGLE"):
        PUBLISHED["eagle"].callable(tmp_path)


def test_the_command_that_there_was_says_what_replaces_it() -> None:
    old = [sys.executable, "-m", "experiments.certification.published", "--list"]
    done = subprocess.run(old, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert INSTEAD in done.stderr


def by_rule(final: str) -> Callable[..., list[int]]:
    """The project's own hierarchical verification, as a callable of the contract."""
    decoder = make_decoder("hierarchical", gamma=2, final=final)

    def verify(p: np.ndarray, q: np.ndarray, drafts: np.ndarray, rng: np.random.Generator) -> list[int]:
        tape = Tape(int(rng.integers(2**32)), 1).at(1)
        count, row = decoder.verify(make_rule("speculative"), p[None], q[None], drafts[None], tape, np.zeros(1, int))
        return [*drafts[: int(count[0])].tolist(), int(rng.choice(2, p=row[0] / row[0].sum()))]

    return verify


@pytest.mark.slow
@pytest.mark.statistical
def test_the_pair_of_rows_tells_the_two_last_steps_apart() -> None:
    """A bias of TV 1/9 is seen in 2,000 calls, and a lossless verifier is not taken for biased."""
    assert not pair_document(by_rule("uncapped"), 2000, seed=0)["follows_the_target"]
    assert pair_document(by_rule("capped"), 2000, seed=0)["follows_the_target"]


# Whole loops: each stand-in is greedy, in what the published one takes and gives --------------------------------------

SEQUENCES = {
    "sampling/utils.py": "".join(
        f"def {name}(*values): ...\n" for name in ("norm_logits", "sample", "max_fn", "top_k_top_p_filter")
    ),
    PUBLISHED["llm-speculative-sampling"].file: """
def speculative_sampling_v2(prefix, approx_model, target_model, max_len, gamma):
    with tqdm(total=max_len, desc="one after another") as bar:
        while prefix.shape[1] < 1 + max_len:
            assert approx_model(prefix).logits.shape == target_model(prefix).logits.shape
            prefix = torch.cat((prefix, target_model(prefix).logits[:, -1:].argmax(-1)), 1)
            bar.update(1 - bar.n)
    return prefix
""",
}
GENERATION = {
    "utils/logits_processor.py": """
class LogitsProcessor(abc.ABC):
    def __init__(self, temperature): ...
class GreedyProcessor(LogitsProcessor): ...
class MultinomialProcessor(GreedyProcessor):
    def __call__(self, logits): return F.softmax(logits, dim=-1)
    def sample(self, rows): return rows.argmax(-1)
""",
    PUBLISHED["romsto"].file: """
def max_fn(x): ...
def speculative_generate(inputs, drafter, target, gamma, logits_processor, max_gen_len, eos_tokens_id):
    found = list(inputs)
    while len(found) <= max_gen_len and eos_tokens_id not in found[1:]:
        answer = target(input_ids=torch.tensor([found]), past_key_values=None, use_cache=False)
        assert answer.logits.shape[-1] == target.config.vocab_size
        found.append(int(logits_processor.sample(logits_processor(answer.logits[:, -1]))))
    return found[1:], 0.0
""",
}
FAST = {
    PUBLISHED["gpt-fast"].file: "".join(
        f"def {name}(*values): ...\n"
        for name in ("decode_one_token", "sample", "logits_to_probs", "multinomial_sample_one_no_sync", "causal_mask")
    )
    + """
def decode_n_tokens(model, token, place, count):
    mask, found = create_block_mask(causal_mask, 1, 1, model.max_seq_length, model.max_seq_length, device="cpu"), []
    for i in range(count):
        token = model(mask[:, :, 0], token.view(1, -1), torch.tensor([place + i]))[:, -1].argmax(-1)
        found.append(token)
    return torch.cat(found)

def model_forward(model, tokens, places): return model(tokens, places)

def speculative_decode(model, draft_model, cur_token, input_pos, speculate_k, temperature):
    drafts = decode_n_tokens(draft_model, cur_token, input_pos, speculate_k)
    ahead = torch.cat([cur_token.view(1), drafts]).view(1, -1)
    best = model_forward(model, ahead, torch.arange(input_pos, input_pos + speculate_k + 1))[0].argmax(-1)
    kept = int((best[:-1] == drafts).cumprod(0).sum())
    return torch.cat([drafts[:kept], best[kept : kept + 1]])
""",
}

TREES = {
    PUBLISHED["sjd-pac"].file: """
def generate_tree_mask_and_retrieve(L, tree_width, tree_depth):  # a chain, and one beside its first draft
    paths = torch.tensor([range(L - 1), [0, L - 1] + (L - 3) * [-1]])
    return None, paths, torch.tensor([*range(L - 1), L])

def setup_speculative_tree_buffers(sampler, tree_width, tree_depth, device):
    sampler.tree_width = tree_width

class SJDPACSpeculativeSampler:
    def __call__(self, draft_tokens, draft_prob, advanced_prob):
        best, size = advanced_prob.argmax(-1), advanced_prob.shape[-1]
        assert (self.img_start, self.img_end, self.tree_width) == (0, size, 2)
        kept = (draft_tokens[:, 1:] == best[:, :-1]).int().cumprod(1).sum(1)
        leaf = int(kept.argmax())
        count = int(kept[leaf])
        left = best[leaf].roll(-count)
        return count + 1, leaf, torch.stack([left, (left + 1) % size]), advanced_prob[:1]
"""
}


@pytest.mark.parametrize(
    ("name", "sources"),
    [("llm-speculative-sampling", SEQUENCES), ("romsto", GENERATION), ("gpt-fast", FAST), ("sjd-pac", TREES)],
)
@pytest.mark.parametrize("eos", [None, 0])
def test_a_greedy_loop_goes_the_way_of_the_target(
    tmp_path: Path, name: str, sources: dict[str, str], eos: int | None
) -> None:
    """Each token depends on all before it, so that a wrong prefix, place or shift shows; drafts are mostly wrong."""
    decode = PUBLISHED[name].callable(written(tmp_path, sources))

    def turning(prefix: tuple[int, ...]) -> Array:
        return np.eye(3)[(sum((i + 1) * (token + 1) for i, token in enumerate(prefix)) + 1) % 3]

    expected: list[int] = []
    while len(expected) < 6 and eos not in expected:
        expected.append(int(turning(tuple(expected)).argmax()))
    assert decode(turning, 6, np.random.default_rng(0), eos) == expected


# Declared rows: a sampler that is lossless if each candidate has been drawn from the row that it is given ------------

TRIED = """
def generate_tree_mask_and_retrieve(L, tree_width, tree_depth):  # two candidates, and nothing behind them
    return None, torch.tensor([[0, 1], [0, 2]]), torch.tensor([0, 1, 3])

def setup_speculative_tree_buffers(sampler, tree_width, tree_depth, device): ...

class SJDPACSpeculativeSampler:
    def __call__(self, draft_tokens, draft_prob, advanced_prob):
        p, q = advanced_prob[0, 0], draft_prob[0, 1].clone()
        count, leaf, last = 1, 0, None
        for path, x in enumerate(draft_tokens[:, 1].tolist()):  # in turn, the second as from the row without the first
            kept = min(1.0, float(p[x] / q[x]))
            if int(torch.multinomial(torch.tensor([1 - kept, kept]), 1)):
                count, leaf, last = 2, path, torch.multinomial(advanced_prob[path, 1], 1)
                break
            p = (p - q).clamp(min=0)
            p, q[x] = p / p.sum(), 0
            q = q / q.sum()
        last = torch.multinomial(p, 1) if last is None else last
        rows = advanced_prob[:1]  # of the next call, whose candidates are drawn from them
        candidates = torch.multinomial(rows[0, 1], 2)
        return count, leaf, torch.stack([last.expand(2), candidates], dim=1), rows
"""


def every_way(run: Callable[[], Any]) -> Iterator[tuple[float, Any]]:
    """What ``run`` gives, and how likely, for all tokens that ``torch.multinomial`` may draw in it, in turn."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Chosen(TorchFunctionMode):
        """Draws the tokens of ``script``, then the first that can be."""

        def __init__(self, script: list[int]) -> None:
            super().__init__()
            self.script, self.others, self.weight = script, list[list[int]](), 1.0

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(function, "__name__", "") != "multinomial":
                return function(*args, **(kwargs or {}))
            weights, count = args
            return torch.tensor([self.row(row, count) for row in weights.reshape(-1, weights.shape[-1]).tolist()]).view(
                *weights.shape[:-1], count
            )

        def row(self, row: list[float], count: int) -> list[int]:
            found: list[int] = []
            while len(found) < count:
                left = [x for x, mass in enumerate(row) if mass > 0 and x not in found]
                place = len(self.others)
                self.script += left[:1] if place == len(self.script) else []
                found.append(self.script[place])
                self.others.append([x for x in left if x > found[-1]])
                self.weight *= row[found[-1]] / sum(row[x] for x in left)
            return found

    script: list[int] = []
    while True:
        with Chosen(script) as mode:
            found = run()
        yield mode.weight, found
        while script and not mode.others[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] = mode.others[len(script) - 1][0]


LEANING = ((0.5, 0.25, 0.25), (0.125, 0.625, 0.25), (0.25, 0.125, 0.625), (0.25, 0.25, 0.5))  # first; after each token
OF_THREE = partial(jacobi_tree, nodes=3)


def deviating(folder: Path, size: int, length: int, code: str = TRIED, loop: Callable[[Path], Any] = OF_THREE) -> float:
    """The TV of the sequences of a loop with a sampler from the target's, all of which are enumerated."""
    decode, rng = loop(written(folder, {"tried.py": code}) / "tried.py"), np.random.default_rng(0)

    def model(prefix: tuple[int, ...]) -> Array:
        row = np.array(LEANING[prefix[-1] + 1 if prefix else 0][:size])
        return row / row.sum()

    law: dict[tuple[int, ...], float] = {}
    for weight, tokens in every_way(lambda: tuple(decode(model, length, rng))):
        law[tokens] = law.get(tokens, 0.0) + weight
    right = np.array([np.prod([model(found[:i])[found[i]] for i in range(length)]) for found in law])
    assert [sum(law.values()), right.sum()] == pytest.approx([1, 1])
    return float(np.abs(np.array(list(law.values())) - right).sum() / 2)


def test_a_jacobi_loop_goes_on_with_what_its_sampler_returns(tmp_path: Path) -> None:
    """The law is the target's, all draws gone through; where the rows that are returned are lost, it is another one."""
    pytest.importorskip("torch")
    stale = LOOP.replace("rows[:, :count], rows[:, count:]", "rows[:, :count], input_token_scores[:, count:]")
    assert deviating(tmp_path, 2, 2, LOOP, partial(jacobi, window=2)) < 1e-6
    assert deviating(tmp_path, 2, 2, stale, partial(jacobi, window=2)) > 0.01


def other_tree(drawn_from: int, declared: int, again: bool = False) -> Callable[[int, int, int], tuple[Any, Any]]:
    """:func:`first_tree` from and with rows in proportion to powers of 1, 2, ...; ``again``: candidates may repeat."""

    def made(size: int, columns: int, width: int) -> tuple[Any, Any]:
        import torch

        own, told = ((torch.arange(1, size + 1.0) ** power).expand(columns, -1) for power in (drawn_from, declared))
        drawn = [torch.multinomial(own, 1) for _ in range(width)] if again else [torch.multinomial(own, width)]
        return torch.cat(drawn, dim=1).T, (told / told.sum(1, keepdim=True))[None]

    return made


@pytest.mark.slow
@pytest.mark.parametrize(("size", "length"), [(3, 1), (2, 3)])
def test_candidates_of_a_tree_are_drawn_from_the_rows_declared_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, length: int
) -> None:
    """The law of what comes out is the target's, all draws gone through, if so; also behind the first call, where the
    adapter hands on what the sampler returns. It is with any row that is declared, and not with another."""
    pytest.importorskip("torch")
    assert deviating(tmp_path, size, length) == pytest.approx(0, abs=1e-6)
    for how, right in (((1, 1), True), ((1, 0), False), ((0, 1), False)):
        monkeypatch.setattr(loops, "first_tree", other_tree(*how))
        assert (deviating(tmp_path, size, length) < 1e-6) == right
    monkeypatch.setattr(loops, "first_tree", other_tree(0, 0, again=True))
    assert deviating(tmp_path, size, length) > 0.005 or size == 2  # of two tokens, what is left after one is the other


@pytest.mark.slow
def test_rows_of_a_later_call_are_those_that_the_sampler_returned(tmp_path: Path) -> None:
    """A sampler that returns the row of a draft turned round is not lossless; that of a committed token nobody uses."""
    pytest.importorskip("torch")
    for place, right in ((1, False), (0, True)):
        turned = f"dim=1), rows.index_copy(1, torch.tensor([{place}]), rows[:, {place} : {place} + 1].flip(-1))"
        assert (deviating(tmp_path, 2, 3, TRIED.replace("dim=1), rows", turned)) < 1e-6) == right


def test_typical_acceptance_is_asked_for_what_is_left_of_its_temperature(tmp_path: Path) -> None:
    names = ("get_typical_posterior_mask", "get_nucleus_posterior_mask")
    source = (
        "".join(f"def {name}(*values): ...\n" for name in names)
        + """
def evaluate_posterior(logits, candidates, temperature):
    rows = torch.softmax(logits[:, :-1] / temperature, dim=-1)
    kept = rows.gather(-1, candidates[:, 1:, None])[:, 0, 0] > 0.25
    return kept.float().argmax(), kept.any()
"""
    )
    published = PUBLISHED["medusa-typical"]
    verify = published.callable(written(tmp_path, {published.file: source}))
    p, rng = np.array([0.2, 0.5, 0.3]), np.random.default_rng(0)
    assert [verify(p, p, np.array(children), rng) for children in ([0, 2], [1], [0])] == [2, 1, 1]


# an evaluator's verification, and the functions that its package draws with
EVALUATOR = """
def verify_draft_tokens(*, target_model, proposal, temperature, **more):
    p = logits_to_probs(target_model(input_ids=proposal.verify_input_ids).logits, temperature)
    drafts = proposal.verify_input_ids[:, 1:]
    ratio = gather_token_probs(p[:, :-1], drafts) / gather_token_probs(proposal.draft_probs, drafts)
    count = int((torch.rand_like(ratio) < ratio).long().cumprod(dim=1).sum())
    if count < proposal.draft_token_count:
        last = sample_residual(p[:, count], proposal.draft_probs[:, count])
    else:
        last = sample_from_probs(p[:, -1:])[:, 0]
    return VerificationResult(committed_tokens=torch.cat([drafts[:, :count], last[:, None]], dim=1))
"""
DRAWN = """
def logits_to_probs(logits, temperature):
    return torch.softmax(logits / temperature, dim=-1)

def sample_from_probs(probs):
    return torch.multinomial(probs[:, 0], 1)

def sample_residual(p, q):
    return torch.multinomial((p - q).clamp(min=0), 1)[:, 0]

def gather_token_probs(probs, tokens):
    return probs.gather(-1, tokens[..., None])[..., 0]
"""


def test_an_evaluator_verifies_with_the_functions_of_its_package(tmp_path: Path) -> None:
    """Another residual is seen."""
    pytest.importorskip("torch")
    path, case = tmp_path / "eval" / "evaluator.py", case_named("verify", "one draft, two tokens")
    written(tmp_path, {"eval/evaluator.py": EVALUATOR})
    with pytest.raises(ValueError, match=r"there is no file .*sampling.py; expected the functions that evaluator.py"):
        draft_tokens(path)
    for code, right in ((DRAWN, True), (DRAWN.replace("(p - q).clamp(min=0)", "p"), False)):
        written(tmp_path, {"utils/sampling.py": code})
        assert (tv_of(case, draft_tokens(path)) < SINGLE) == right
