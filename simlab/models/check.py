"""What a model lacks to be decoded, by name: each part is tried on a few tokens, and told with what was expected.

Checks run in order, from the parts a model must have to what only shows when keys and values are kept. Where a check
fails on which the next ones stand, those are not made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from numbers import Integral
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from simlab.models.architectures.backbone import missing_parts, place_of
from simlab.models.architectures.transformer import Causal, at_least_single
from simlab.models.process.cached import Cached
from simlab.models.process.from_logits import FromLogits, Logits

SIZES = {
    "vocabulary": "V",
    "length": "tokens of a sequence",
    "prefix": "positions of the condition, at least one",
    "layers": "how many there are",
    "heads": "of keys and values",
    "head_dim": "numbers of a head",
    "dim": "numbers of an input",
}
BATCH, TOKENS = 3, 6  # of the sequences that a model is tried on, tokens at most
FAR = 100.0  # below the largest logit of a row: tokens that are as good as forbidden
PATHS = (0, -1), (1, -1), (0, 2), (1, 3)  # of a tree: two nodes, and one behind each


class Finding(NamedTuple):
    """What became of one check.

    Attributes
    ----------
    check
        What was looked at.
    problem
        What is wrong, and what was expected; ``None`` where nothing is.
    """

    check: str
    problem: str | None


def check_model(model: Any, given: Any = None) -> list[Finding]:
    """Try a model as decoders will use it.

    ``model``: what is to be a :class:`~simlab.models.architectures.backbone.Backbone`. ``given``: ``[B, ...]``, B >= 2
    conditions as the model takes them; by default the first classes, of ``config.classes``, or zeros where it has none.
    Returns a list of Finding, one a check, in the order they were made; the last is a problem where others could not be
    made.
    """
    return _made(Probe(model, given), CHECKS)


def check_logits(logits: Logits, shape: tuple[int, int], given: Tensor | None = None) -> list[Finding]:
    """Try a function of whole sequences as :class:`~simlab.models.process.from_logits.FromLogits` will use it.

    ``logits``, ``shape``, ``given``: as for that process; of conditions at least two. Returns a list of Finding, one a
    check, in the order they were made; the last is a problem where others could not be made.
    """
    try:
        process = FromLogits(logits, shape, given)
    except Exception as error:  # whatever a function makes of no tokens
        return [Finding("logits", _raised(error) if not isinstance(error, ValueError) else str(error))]
    return [Finding("logits", None), *_made(FunctionProbe(process), {name: CHECKS[name] for name in VALUES})]


def _made(probe: Probe, checks: dict[str, tuple[Look, bool]]) -> list[Finding]:
    findings = []
    for check, (look, needed) in checks.items():
        try:
            with torch.no_grad():
                problem = look(probe)
        except Exception as error:  # whatever a model makes of what it is given
            problem = _raised(error)
        findings.append(Finding(check, problem))
        if problem is not None and needed:
            break
    return findings


def _raised(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"raises {type(error).__name__}{': ' + text[0] if text else ''}"


class Probe:
    """A model, and a few sequences to try it on."""

    def __init__(self, model: Any, given: Any) -> None:
        self.model, self._given = model, given

    @cached_property
    def given(self) -> Any:
        if self._given is not None:
            return self._given
        return torch.arange(BATCH, device=self.device) % getattr(self.model.config, "classes", 1)

    @cached_property
    def tokens(self) -> Tensor:
        """``int64[B, L]``, the first and the last of the vocabulary among them; none for sequences of one token."""
        sizes = self.model.config
        count = min(TOKENS, sizes.length)
        drawn = torch.randint(sizes.vocabulary, (len(self.given), count), generator=torch.Generator().manual_seed(0))
        drawn[:1, :1], drawn[-1:, -1:] = sizes.vocabulary - 1, 0
        return drawn.to(self.device)

    @property
    def precision(self) -> torch.dtype:
        found: torch.dtype = self.model.condition(self.given).dtype
        return found

    @property
    def device(self) -> torch.device:
        return place_of(self.model)

    @cached_property
    def logits(self) -> Tensor:
        """``[B, L + 1, V]``: the rows of the sequences."""
        return self.rows(self.given, self.tokens)

    def rows(self, given: Any, tokens: Tensor) -> Tensor:
        """``[B, n + 1, V]``: a row before each token and one behind the last, seen all at once."""
        found: Tensor = self.model.logits(self.features(given, tokens))
        return found[:, self.model.config.prefix - 1 :]

    def features(self, given: Any, tokens: Tensor, memory: Any = None, shift: int = 0) -> Tensor:
        inputs = torch.cat([self.model.condition(given), self.model.embed(tokens)], dim=1)
        position = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
        found: Tensor = self.model.features(inputs, (position - shift).abs(), memory or Causal())
        return found

    def apart(self, found: Tensor, expected: Tensor) -> Tensor:
        """``[...]``: how far rows ``[..., V]`` are apart where that is more than rounding, 0 elsewhere.

        What is rounded off is measured by tokens that can be drawn: others may have logits of -1e9, or -infinity.
        """
        found, expected = at_least_single(found), at_least_single(expected)
        least = expected.amax(-1, keepdim=True) - FAR
        allowed = torch.finfo(self.precision).eps ** 0.5 * (1 + expected[expected > least].abs().max())
        away = (found.clamp(min=least) - expected.clamp(min=least)).abs().amax(-1)
        return away.where(~(away <= allowed), 0)  # NaN is apart from every number

    def apart_from_logits(self, pmfs: Tensor, logits: Tensor) -> Tensor:
        """As :meth:`apart`, of pmfs and the logits they should be of, both as logs below the likeliest token's: of pmfs
        over many tokens all numbers are small, and none is far from another."""
        found, expected = (at_least_single(rows) for rows in (pmfs.log(), logits))
        return self.apart(found - found.amax(-1, keepdim=True), expected - expected.amax(-1, keepdim=True))


class FunctionProbe(Probe):
    """A function of whole sequences, and a few to try it on."""

    def __init__(self, process: FromLogits) -> None:
        sizes = SimpleNamespace(vocabulary=process.vocabulary, length=process.length - 1)
        super().__init__(SimpleNamespace(config=sizes), process.given)
        self.process, self.free = process, process.given is None

    @property
    def precision(self) -> torch.dtype:
        return self.logits.dtype

    @property
    def device(self) -> torch.device:
        return self.process.uniform.device

    def rows(self, given: Any, tokens: Tensor) -> Tensor:
        return torch.as_tensor(self.process.logits(tokens, None if self.free else given))


# what is there -------------------------------------------------------------------------------------------------


def _parts(probe: Probe) -> str | None:
    return missing_parts(probe.model)


def _sizes(probe: Probe) -> str | None:
    sizes = probe.model.config
    for name, meaning in {**SIZES, "shape": "(rows, columns) of tokens"}.items():
        if not hasattr(sizes, name):
            return f"config is missing {name}; expected {meaning}"
    for name, meaning in SIZES.items():
        value = getattr(sizes, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            return f"config.{name} is {value!r}; expected a whole number >= 1: {meaning}"
    shape = tuple(sizes.shape) if hasattr(sizes.shape, "__iter__") else sizes.shape
    sides = isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(s, Integral) and int(s) > 0 for s in shape)
    if not sides or shape[0] * shape[1] != sizes.length:
        return f"config.shape is {shape} and length {sizes.length}; expected (rows, columns), and rows * columns tokens"
    return None


# shapes --------------------------------------------------------------------------------------------------------


def _condition(probe: Probe) -> str | None:
    return _misshapen("condition(given)", probe.model.condition(probe.given), probe, probe.model.config.prefix)


def _null(probe: Probe) -> str | None:
    nothing = probe.model.condition(probe.model.null(len(probe.given)))
    wrong = _misshapen("condition(null(batch))", nothing, probe, probe.model.config.prefix)
    if wrong is None and nothing.dtype != probe.precision:
        return f"condition(null(batch)) is {nothing.dtype}; expected {probe.precision}, as condition(given) is"
    if wrong is None and nothing.isnan().any():
        return "condition(null(batch)) holds NaN; expected numbers"
    return wrong


def _embed(probe: Probe) -> str | None:
    found = probe.model.embed(probe.tokens)
    wrong = _misshapen("embed(tokens)", found, probe, probe.tokens.shape[1])
    condition = probe.model.condition(probe.given).dtype
    if wrong is None and found.dtype != condition:
        return f"embed(tokens) is {found.dtype}; expected {condition}, as condition(given) is"
    return wrong


def _features(probe: Probe) -> str | None:
    found, length = probe.features(probe.given, probe.tokens), probe.model.config.prefix + probe.tokens.shape[1]
    return _misshapen("features(inputs, position, memory)", found, probe, length)


def _logits(probe: Probe) -> str | None:
    found = probe.model.logits(probe.features(probe.given, probe.tokens))
    length = probe.model.config.prefix + probe.tokens.shape[1]
    wrong = _misshapen("logits(features)", found, probe, length, probe.model.config.vocabulary)
    if wrong is None and found.dtype not in (torch.float32, torch.float64):
        return f"logits are {found.dtype}; expected float32 or better, as in .float()"
    return wrong


def _misshapen(what: str, found: Any, probe: Probe, count: int, last: int | None = None) -> str | None:
    """``last``: numbers of each; those of an input, unless given."""
    if not isinstance(found, Tensor) or not found.is_floating_point():
        kind = found.dtype if isinstance(found, Tensor) else type(found).__name__
        return f"{what} is {kind}; expected a float tensor"
    shape = len(probe.given), count, last or probe.model.config.dim
    return None if tuple(found.shape) == shape else f"{what} has shape {tuple(found.shape)}; expected {shape}"


# values --------------------------------------------------------------------------------------------------------


def _numbers(probe: Probe) -> str | None:
    largest = probe.logits.amax(-1)
    wrong = (~largest.isfinite()).nonzero()
    if not len(wrong):
        return None
    sequence, row = wrong[0].tolist()
    told = "is -infinity for every token" if largest[sequence, row] == -torch.inf else "holds NaN or infinity"
    return f"the row before token {row} of sequence {sequence} {told}; expected numbers"


def _same(probe: Probe) -> str | None:
    if not probe.apart(probe.rows(probe.given, probe.tokens), probe.logits).any():
        return None
    return "two calls with the same tokens differ; expected one answer: call eval(), and keep nothing between calls"


def _causality(probe: Probe) -> str | None:
    """Row j is made of the condition and the first j tokens."""
    for changed in reversed(range(probe.tokens.shape[1])):
        others = probe.tokens.clone()
        others[:, changed] = (others[:, changed] + 1) % probe.model.config.vocabulary
        away = probe.apart(probe.rows(probe.given, others)[:, : changed + 1], probe.logits[:, : changed + 1])
        if away.any():
            row = int(away.any(0).nonzero()[0])
            return (
                f"token {changed} changes the row before token {row}, by {float(away[:, row].max()):.3g}; expected a "
                "row to depend on nothing but the condition and the tokens before it"
            )
    return None


def _batch(probe: Probe) -> str | None:
    for k in range(len(probe.given)):
        alone = probe.rows(probe.given[k : k + 1], probe.tokens[k : k + 1])
        away = float(probe.apart(alone, probe.logits[k : k + 1]).max())
        if away:
            return f"sequence {k} alone has other rows than beside others, by {away:.3g}; expected the same"
    return None


def _outside(probe: Probe) -> str | None:
    """Drafts may reach over the end, and a draft model feeds one before the beginning; nobody looks at their rows.

    Attention passes over them with weights of 0, which make no number of NaN.
    """
    inputs, sizes = probe.model.embed(probe.tokens), probe.model.config
    for position in (-1, sizes.prefix + sizes.length, sizes.prefix + 2 * sizes.length):
        place = torch.full(inputs.shape[:2], position, device=inputs.device)
        try:
            found = probe.model.features(inputs, place, Causal())
        except (IndexError, RuntimeError) as error:
            return (
                f"features raises {type(error).__name__} at position {position}, outside of the sequence; expected no "
                "error there, as with position.clamp(0, ...): a window of drafts may reach over the end"
            )
        if not found.isfinite().all():
            return (
                f"features holds NaN or infinity at position {position}, outside of the sequence; expected numbers "
                "there, as with position.clamp(0, ...): a window of drafts may reach over the end"
            )
    return None


# keys and values -----------------------------------------------------------------------------------------------


class MemoryCalls:
    """A memory that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, tuple[int, ...]]] = []

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.asked.append((layer, tuple(key.shape)))
        return Causal().attend(layer, query, key, value)


def _memory(probe: Probe) -> str | None:
    sizes, calls = probe.model.config, MemoryCalls()
    probe.features(probe.given, probe.tokens, calls)
    layers = [layer for layer, _ in calls.asked]
    if layers != list(range(sizes.layers)):
        return (
            f"features calls memory.attend for the layers {layers}; expected each of config.layers = {sizes.layers} "
            "once, from 0 on: keys and values are kept there"
        )
    wanted = len(probe.given), sizes.heads, sizes.prefix + probe.tokens.shape[1], sizes.head_dim
    for layer, shape in calls.asked:
        if shape != wanted:
            return f"keys of layer {layer} have shape {shape}; expected [B, heads, L, head_dim] = {wanted}"
    return None


def _cache(probe: Probe) -> str | None:
    """Windows that start anywhere, over drafts that are rejected, have the rows of the whole sequence; so do those of
    sequences that are not equally far, and trees of drafts."""
    process, count = Cached(probe.model, probe.given), probe.tokens.shape[1]
    expected = probe.logits
    start = torch.zeros(len(probe.given), dtype=torch.int64, device=probe.device)
    right = process.buffer(len(start), process.length + count)
    right[:, :count] = probe.tokens
    away = torch.zeros(count)
    for first in range(count):
        wrong = right.clone()
        wrong[:, first:count] = (probe.tokens[:, first:] + 1) % probe.model.config.vocabulary
        rejected = process.forward(wrong, start + first, count - first)[:, :1]
        rows = torch.cat([rejected, process.forward(right, start + first, count - first)], dim=1)
        seen = torch.cat([expected[:, first : first + 1], expected[:, first:count]], dim=1)
        away[first] = probe.apart_from_logits(rows, seen).max()
    if not away.any():
        return _not_equally_far(probe, process, right) or _tree(probe, process, right)
    moved = probe.apart(probe.features(probe.given, probe.tokens, shift=2), probe.features(probe.given, probe.tokens))
    told = (
        f"rows of a window from token {int(away.nonzero()[0])} on are others where earlier tokens come from the cache"
    )
    if not moved.any():
        return f"{told}; expected features to place inputs by position[B, L], of which they take no notice"
    return f"{told}, by {float(away.max()):.3g}; expected attention over all that memory.attend has kept, and no more"


def _not_equally_far(probe: Probe, process: Cached, right: Tensor) -> str | None:
    """Each sequence of a batch is as far as it is."""
    expected, count = probe.logits, probe.tokens.shape[1]
    start = torch.arange(len(expected), device=probe.device) % count
    width = count - int(start.max())
    seen = expected.take_along_dim((start[:, None] + torch.arange(width, device=probe.device))[..., None], dim=1)
    away = probe.apart_from_logits(process.forward(right, start, width), seen)
    if not away.any():
        return None
    return (
        f"rows of windows that start at other tokens in each sequence of a batch are others, by {float(away.max()):.3g}"
        "; expected a sequence to take notice of its own inputs and its own row of position[B, L] only"
    )


def _tree(probe: Probe, process: Cached, right: Tensor) -> str | None:
    """Rows behind the nodes of a tree are those of the sequences that end with their paths."""
    start = probe.tokens.shape[1] - 3
    if start < 0:
        return None
    others = probe.tokens.clone()
    others[:, start:] = (others[:, start:] + 1) % probe.model.config.vocabulary
    ways = torch.stack([probe.tokens, others], dim=-1)[:, start : start + 2]
    rows = torch.stack([probe.logits, probe.rows(probe.given, others)], dim=2)[:, start + 1 : start + 3]
    expected = torch.cat([probe.logits[:, start : start + 1], rows.flatten(1, 2)], dim=1)
    starts, paths = torch.full_like(right[:, 0], start), torch.tensor(PATHS, device=probe.device)
    away = probe.apart_from_logits(process.forward_tree(right, starts, ways.flatten(1), paths), expected)
    if not away.any():
        return None
    return (
        f"rows behind a tree of drafts are others than behind each of its paths, by {float(away.max()):.3g}; expected "
        "features to place inputs by position[B, L], in which drafts for the same token are equal"
    )


Look = Callable[[Probe], str | None]

CHECKS: dict[str, tuple[Look, bool]] = {  # and whether the next ones stand on it
    "parts": (_parts, True),
    "sizes": (_sizes, True),
    "condition": (_condition, True),
    "no condition": (_null, False),
    "tokens": (_embed, True),
    "features": (_features, True),
    "logits": (_logits, True),
    "numbers": (_numbers, True),
    "same twice": (_same, True),
    "causality": (_causality, False),
    "batch": (_batch, False),
    "outside": (_outside, True),
    "memory": (_memory, True),
    "cache": (_cache, False),
}
VALUES = "numbers", "same twice", "causality", "batch"  # that a function of whole sequences may be wrong in, too
