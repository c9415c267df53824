"""Methods by name: a decoder, a rule, and the draft model.

==================================  =====================================  =============================================
method                              decoder x rule                         of the paper
==================================  =====================================  =============================================
``ar``                              autoregressive                         what all others are held against
``jacobi``                          jacobi                                 SJD, section 3.2
``speculative``                     speculative x speculative              Leviathan et al., with the draft model
``eagle``                           speculative x speculative              EAGLE: drafts of the head
``sjd``, ``sjd-repeat-left``, ...   sjd x speculative                      SJD, started at random or from neighbours
``sjd-pd``, ``sjd-ac``, ``sjd-pac`` the same x speculative                 SJD-PAC and its two parts
``sjd-maximal``, ``sjd-gumbel``     sjd x speculative                      SCD, drafts coupled from call to call
``sjd-pac-gumbel``                  sjd-pac x speculative                  SJD-PAC's tree, drafts coupled as in SCD
``sjd-block``                       sjd-block                              block verification, coupled drafts
``sjd-block-tree``                  sjd-block-tree                         the same, siblings of its first draft
``sjd-pp``, ``sjd-pp-newest``       sjd-pp x speculative                   SJD++, mended, and as code has it: lossy
``sjd-vp``, ``sjd-vp-newest``       sjd-vp x speculative                   SJD-VP, its row declared or not: lossy
``sjd-pv``                          sjd-pv x speculative                   SJD-PV, phrases of two: lossy
``sjd2``, ``sjd2-noisy``            sjd2 x speculative                     SJD2, a stand-in; noise accepted: lossy
``sampler-match``                   speculative x sampler-match            llama.cpp, mlx-lm, with the draft model
``vvs``                             skipping x speculative                 VVS, the first draft unverified: lossy
``cascade``                         speculative x lantern-reference        CASCADE, sets of near codes: lossy, stand-in
``gsd``                             sjd x dynamic-grouped                  GSD: lossy
``lantern``                         speculative x lantern                  LANTERN, with drafts of the head: lossy
==================================  =====================================  =============================================

All windows of SJD's kind hold ``NODES`` drafts a call, trees among them, and ask for ``NODES`` + 1 rows, of which the
first depends on none; a window of ``jacobi``, which asks for no row behind its last draft, is longer by one, so that
all calls are as large. Draft models make ``GAMMA`` drafts for a call of ``GAMMA`` + 1 rows, or, for all calls to be as
large (:func:`with_drafts`), as many as the others; ``ar`` asks for one row.
``BASE+RULE`` is any other pair: a method or a decoder by its name, and the rule that takes the place of its own.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from simlab.decoders import (
    DECODERS,
    Decoder,
    Jacobi,
    SpeculativeDecoder,
    make_decoder,
    nodes,
    verifies,
)
from simlab.registry import meant
from simlab.rules import RULES, Rule, SamplerMatch, Speculative, make_rule

Drafter = Literal["draft", "head"]

NODES = 32  # drafts a call, the smaller budget of SJD-PAC's Table 2
GAMMA = 4  # drafts of a draft model
PATHS = 4  # of a tree of levels that has as many drafts as are asked for
BRANCHING = (2, 2, 1, 1)  # children a node of each level, as many levels as drafts
TREE = {"window": 23, "candidates": 4, "depth": 3}  # SJD-PAC's K and D; NODES nodes as a comb
USUAL: dict[str, Any] = {"window": NODES, "gamma": GAMMA, "branching": BRANCHING}  # where a decoder has none
OVER_CODEBOOK: dict[str, Any] = {"labels": {"groups": 64}, "neighbours": {"count": 16}}  # where a rule needs a table


@dataclass(frozen=True)
class Preset:
    """A method before anything is changed."""

    decoder: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rule: str = "speculative"
    of_rule: Mapping[str, Any] = field(default_factory=dict)
    drafter: Drafter | None = None


METHODS: dict[str, Preset] = {
    "ar": Preset("autoregressive"),
    "jacobi": Preset("jacobi", {"window": NODES + 1}),
    "speculative": Preset("speculative", drafter="draft"),
    "eagle": Preset("speculative", drafter="head"),
    "sjd": Preset("sjd"),
    "sjd-repeat-left": Preset("sjd", {"initial": "repeat-left"}),
    "sjd-repeat-above": Preset("sjd", {"initial": "repeat-above"}),
    "sjd-sample-left": Preset("sjd", {"initial": "sample-left"}),
    "sjd-sample-above": Preset("sjd", {"initial": "sample-above"}),
    "sjd-pd": Preset("sjd-pd", TREE),
    "sjd-ac": Preset("sjd-ac"),
    "sjd-pac": Preset("sjd-pac", TREE),
    "sjd-maximal": Preset("sjd", {"renewal": "maximal"}),
    "sjd-gumbel": Preset("sjd", {"renewal": "gumbel"}),
    "sjd-pac-gumbel": Preset("sjd-pac", TREE | {"renewal": "gumbel"}),
    "sjd-block": Preset("sjd-block"),
    "sjd-block-tree": Preset("sjd-block-tree", {"window": NODES - 3, "candidates": 4}),
    "sjd-pp": Preset("sjd-pp"),
    "sjd-pp-newest": Preset("sjd-pp", {"declared": "newest"}),
    "sjd-vp": Preset("sjd-vp"),
    "sjd-vp-newest": Preset("sjd-vp", {"declared": "newest"}),
    "sjd-pv": Preset("sjd-pv"),
    "sjd2": Preset("sjd2"),
    "sjd2-noisy": Preset("sjd2", {"criterion": "noisy"}),
    "sampler-match": Preset("speculative", rule="sampler-match", drafter="draft"),
    "vvs": Preset("skipping", drafter="draft"),
    "cascade": Preset("speculative", rule="lantern-reference", of_rule={"delta": 1}, drafter="draft"),
    "gsd": Preset("sjd", rule="dynamic-grouped", of_rule={"size": 10, "max_gap": 0.15}),
    "lantern": Preset("speculative", rule="lantern", of_rule={"delta": 0.2}, drafter="head"),
}


@dataclass(frozen=True, eq=False)
class Method:
    """A decoder and a rule, ready to run, and how they came about."""

    name: str
    base: str  # the method's or decoder's name
    decoder: Decoder
    rule: Rule
    rule_name: str
    drafter: Drafter | None
    settings: dict[str, Any]  # parameters of both that are written down somewhere

    @property
    def decoder_name(self) -> str:
        return METHODS[self.base].decoder if self.base in METHODS else self.base

    @property
    def lossless(self) -> bool:
        """Whether it is proven to be (:mod:`theory.claims`): its rule is, or it asks none."""
        matched = type(self.rule) is SamplerMatch and type(self.decoder) is SpeculativeDecoder
        return self.decoder.lossless and (not verifies(self.decoder) or type(self.rule) is Speculative or matched)


def make_method(name: str, codebook: np.ndarray | None, settings: Mapping[str, Any] | None = None) -> Method:
    """The method called ``name`` with ``settings`` in place of its own, its tables made over ``codebook[V, d]``.

    Raises ``ValueError`` for an unknown name or parameter, a missing one, or a bad value.
    """
    base, _, other = name.partition("+")
    preset, rule = _preset(base), other or _preset(base).rule
    own, of_rule = dict(preset.parameters), dict(preset.of_rule) if rule == preset.rule else {}
    _check_rule(rule)
    own = _usual(DECODERS[preset.decoder], USUAL) | own
    of_rule = _usual(RULES[rule], OVER_CODEBOOK) | of_rule
    for key, value in (settings or {}).items():
        _place(name, key, value, (DECODERS[preset.decoder], own), (RULES[rule], of_rule))
    made = make_rule(rule, **of_rule | _over(codebook, rule, of_rule))
    decoder = make_decoder(preset.decoder, **own)
    return Method(name, base, decoder, made, rule, preset.drafter, own | of_rule)


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Parameters written ``key=value``, ``key.option=value`` for one of a table; values as in TOML, or a bare word.

    Raises ``ValueError`` for what is no such thing, or a key given twice.
    """
    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        names = key.split(".")
        if not equals or not value or len(names) > 2 or not all(n.replace("-", "_").isidentifier() for n in names):
            raise ValueError(f"{text!r} is no setting; expected key=value, such as window=16 or labels.groups=20")
        place = found if len(names) == 1 else found.setdefault(names[0], {})
        if not isinstance(place, dict) or names[-1] in place:
            raise ValueError(f"{key!r} is set twice; expected each parameter once")
        place[names[-1]] = _value(value)
    return found


def rows(decoder: Decoder) -> int:
    """The rows of each sequence that one call of the target asks for: one behind every draft, and one before all."""
    return nodes(decoder) if isinstance(decoder, Jacobi) else 1 + nodes(decoder)


def with_drafts(name: str, codebook: np.ndarray | None, drafts: int) -> Method:
    """The method called ``name`` with ``drafts`` a call: in its window, in a chain, or in a tree.

    A tree of levels has ``PATHS`` paths of one length; of ``dynamic-tree`` so many nodes are kept, however many rows
    its paths have. Raises ``ValueError`` where no window, or no such tree, holds so many.
    """
    usual = make_method(name, codebook)
    sizes = vars(usual.decoder)
    if "window" in sizes:
        return _with_window(usual, codebook, drafts)
    if "branching" in sizes and (drafts < PATHS or drafts % PATHS):
        raise ValueError(
            f"--drafts {drafts}: expected a multiple of {PATHS}, the paths of {name}'s tree, such as {NODES}"
        )
    wanted = {"gamma": drafts, "branching": (PATHS, *[1] * (drafts // PATHS - 1)), "total": drafts}
    return make_method(name, codebook, {key: value for key, value in wanted.items() if key in sizes})


def _with_window(usual: Method, codebook: np.ndarray | None, drafts: int) -> Method:
    """The same with the window that holds ``drafts``."""
    name, window = usual.name, vars(usual.decoder)["window"]
    beside = rows(usual.decoder) - 1 - window  # drafts that a tree has beside its window; fewer beside a short one
    for window in range(max(1, drafts - beside), drafts + 2):
        made = make_method(name, codebook, {"window": window})
        if rows(made.decoder) == drafts + 1:
            return made
    raise ValueError(f"--drafts {drafts}: expected a number that some window of {name} holds, such as {NODES}")


# Parts ------------------------------------------------------------------------------------------------------------


def _preset(base: str) -> Preset:
    if base in METHODS:
        return METHODS[base]
    if base not in DECODERS:
        decoders = ", ".join(name for name in DECODERS if name not in METHODS)
        raise ValueError(
            f"unknown method {base!r}; {meant(base, (*METHODS, *DECODERS))}expected one of {', '.join(METHODS)}, a "
            f"decoder ({decoders}), or one of these and a rule, such as sjd-pac+grouped"
        )
    return Preset(base, drafter="draft" if getattr(DECODERS[base], "needs_draft", False) else None)


def _check_rule(rule: str) -> None:
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; {meant(rule, RULES)}expected one of {', '.join(RULES)}")


def _over(codebook: np.ndarray | None, rule: str, of_rule: dict[str, Any]) -> dict[str, np.ndarray]:
    """The tables of a rule's parameters, made over a codebook."""
    if not of_rule:
        return {}
    from experiments.sweeps.tables import tables  # what sweeps load takes a second

    over = tables(of_rule)
    if codebook is None:
        if over:
            raise ValueError(f"rule {rule!r} asks how near tokens are; expected a model with a codebook, float[V, d]")
        return {}
    for table in over.values():
        table.check(len(codebook))
    return {key: table.of(codebook) for key, table in over.items()}


def _usual(made: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``values`` that are needed to make something, and have no default."""
    known = inspect.signature(made).parameters
    return {key: v for key, v in values.items() if key in known and known[key].default is inspect.Parameter.empty}


def _place(name: str, key: str, value: Any, *sides: tuple[Any, dict[str, Any]]) -> None:
    """Put a setting where it belongs; the options of a table beside those it has."""
    for made, parameters in sides:
        if key in inspect.signature(made).parameters:
            old = parameters.get(key)
            parameters[key] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
            return
    known = [key for made, _ in sides for key in inspect.signature(made).parameters]
    takes = ", ".join(known) or "no parameters"
    raise ValueError(f"method {name!r} has no parameter {key!r}; {meant(key, known)}expected {takes}")


def _value(text: str) -> Any:
    """A number, a truth value, a list or a string as TOML has them; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if not text.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"{text!r} is no value; expected a number, true, false, a word or a list") from None
        return text
