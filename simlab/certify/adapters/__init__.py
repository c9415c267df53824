"""Third-party verifiers that can be certified by name: ``simlab certify transformers``.

An adapter turns a published routine into the callable of a contract. It changes nothing about the routine: rows become
tensors in the precision it is used in, and PyTorch draws as the generator says. Packages are imported when a callable
is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from simlab.certify.adapters.checkouts.registry import PUBLISHED, Published
from simlab.registry import meant

Function = Callable[..., Any]


@dataclass(frozen=True)
class Adapter:
    """A verifier by others: ``factory`` names the function that makes the callable, ``options`` are its arguments.

    ``package`` is what has to be installed, as it is called where packages are found; ``extra`` the extra of simlab
    that does, where there is one. ``at_most`` is the most that its tables take, where they do not take every shape.
    """

    name: str
    contract: str
    about: str
    package: str
    factory: str
    options: tuple[tuple[str, Any], ...] = ()
    extra: str | None = "verifiers"
    needs_cuda: bool = False
    at_most: str = ""

    def version(self) -> str:
        """The version of the package; raises ``ValueError`` where it is not installed."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            raise ValueError(f"{self.name} needs the package {self.package}; {self._remedy()}") from None

    def make(self) -> Function:
        """The callable. Raises ``ValueError``, which says what to do, where the package or a CUDA device is missing."""
        if self.needs_cuda and not _cuda():
            raise ValueError(f"{self.name} needs a CUDA device, and there is none here; nothing was certified")
        self.version()
        module, _, function = self.factory.partition(":")
        made: Function = partial(getattr(import_module(f"{__name__}.{module}"), function), **dict(self.options))()
        return made

    def _remedy(self) -> str:
        wanted = self.package if self.extra is None else f"'simlab[{self.extra}]'"
        return f"pip install {wanted}"


def adapter(name: str) -> Adapter:
    """An adapter by its name; raises ``ValueError`` where there is none."""
    if name not in ADAPTERS:
        raise ValueError(f"adapter is {name!r}; {meant(name, ADAPTERS)}expected one of {', '.join(ADAPTERS)}")
    return ADAPTERS[name]


def _cuda() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.device_count() > 0  # starts no device, which would survive no fork


ADAPTERS: dict[str, Adapter] = {
    found.name: found
    for found in (
        Adapter(
            "transformers",
            "verify",
            "The verification routine of assisted generation, `_speculative_sampling`.",
            "transformers",
            "transformers:verify",
        ),
        Adapter(
            "transformers-ensemble",
            "verify",
            "`_speculative_sampling` with `assistant_ensemble_weight=0.5`, which is documented to be lossy.",
            "transformers",
            "transformers:verify",
            (("assistant_ensemble_weight", 0.5),),
        ),
        Adapter(
            "transformers-generate",
            "decode",
            "`generate` with an assistant model that drafts two tokens at a time.",
            "transformers",
            "transformers:generate",
        ),
        Adapter(
            "transformers-generate-temperature",
            "decode",
            "`generate` with an assistant at temperature 2, of models that are as much sharper; the assistant gets it "
            "twice.",
            "transformers",
            "transformers:generate",
            (("temperature", 2.0),),
        ),
        Adapter(
            "transformers-prompt-lookup",
            "decode",
            "`generate` whose drafts are what followed the last token earlier in the sequence.",
            "transformers",
            "transformers:prompt_lookup",
        ),
        Adapter(
            "transformers-early-exit",
            "decode",
            "`generate` whose drafts come from an early layer of the model itself.",
            "transformers",
            "transformers:early_exit",
        ),
        Adapter(
            "transformers-universal",
            "decode",
            "`generate` with an assistant of another tokenizer, whose vocabulary is listed in another order.",
            "transformers",
            "universal:generate",
            at_most="V=4096",  # the assistant's head has V^2 numbers
        ),
        Adapter(
            "flashspec",
            "verify",
            "The verification step of its engine, `rejection_step`.",
            "flashspec",
            "flashspec:verify",
        ),
        Adapter(
            "flashspec-engine-greedy-drafter",
            "decode",
            "Its engine on a batch of two, sampling at temperature 1, with a drafter at temperature 0.",
            "flashspec",
            "flashspec:engine",
        ),
        Adapter(
            "specdec",
            "verify",
            "`SpecDecoder.verify`.",
            "specdec",
            "small_packages:specdec",
        ),
        Adapter(
            "speculative-decoding",
            "decode",
            "The loop `speculative_decoding`.",
            "speculative-decoding",
            "small_packages:speculative_decoding",
        ),
        *(
            Adapter(name, contract, about, "rotalabs-accel", f"rotalabs:{factory}", extra=None)
            for name, contract, about, factory in (
                ("rotalabs-accel", "verify", "`verify_tokens` at temperature 1, top-p 1.", "verify_tokens"),
                (
                    "rotalabs-accel-rejection",
                    "verify",
                    "`rejection_sample` for one draft after another.",
                    "rejection_sample",
                ),
                ("rotalabs-accel-decode", "decode", "The loop `speculative_decode`.", "decode"),
            )
        ),
        *(
            Adapter(
                f"sequential-speculative-decoding{suffix}",
                "decode",
                about,
                "sequential-speculative-decoding",
                "steps:sequential",
                (("method", method),),
                extra=None,
            )
            for suffix, about, method in (
                ("", "Steps of its `standard_speculative_step`.", "standard_sd"),
                ("-naive-hsd", "Steps of its `naive_hsd_step`, hierarchical verification.", "naive_hsd"),
                ("-capped-hsd", "Steps of its `capped_hsd_step`, hierarchical and capped.", "capped_hsd"),
            )
        ),
        Adapter(
            "mini-infer",
            "decode",
            "Steps of its `speculative_step`.",
            "mini-infer",
            "steps:mini_infer",
            extra=None,
        ),
        Adapter(
            "vllm",
            "verify",
            "The kernel of its rejection sampler, `rejection_sample`.",
            "vllm",
            "cuda:vllm",
            extra=None,
            needs_cuda=True,
        ),
        Adapter(
            "flashinfer",
            "verify",
            "Its kernel `chain_speculative_sampling`.",
            "flashinfer-python",
            "cuda:flashinfer",
            extra=None,
            needs_cuda=True,
        ),
    )
}

NAMED: dict[str, Adapter | Published] = {**ADAPTERS, **PUBLISHED}  # all that can be certified by a name

__all__ = ["ADAPTERS", "NAMED", "Adapter", "adapter"]
