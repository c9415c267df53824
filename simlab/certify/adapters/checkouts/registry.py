"""The registry of published code that is no package."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.certify.adapters.checkouts.loops import fast, generation, jacobi, jacobi_tree, loop_over_sequences
from simlab.certify.adapters.checkouts.verifiers import cactus, draft_tokens, hierarchical, tree_posterior, typical


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


def from_checkout(name: str, checkout: str) -> Any:
    """The callable of published code by its name; raises ``ValueError`` where the folder ``checkout`` has it not."""
    return PUBLISHED[name].callable(Path(checkout))
