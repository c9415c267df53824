"""Continuous tokens compiled: every decision of the reference form, on the same tape.

Whether a draft is kept, how many proposals are made and how many calls are equal; so are tokens, to the last bit where
matrices are diagonal, standard deviations fixed and proposals no draws from marginals, else to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from simlab.continuous import affine
from simlab.continuous.compiled import run, simulate
from simlab.continuous.decoders import Decoded, InPlace, Outcome, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddim_chain, ddpm_chain, learned_range, noiseless_end, schedule
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import RULES, LastStep, Path, Rule, TwoPath, VarianceProduct, make_rule
from simlab.randomness import Tape
from tests.support.refusals import refused

pytestmark = pytest.mark.parity
DEFAULT_EVERY = 7  # odd: of everything that comes in twos either is met

SEED, REPLICATES = 99, 70
NOISE = schedule("linear", 1000, 4)
SHORT = np.array([0.95, 0.8, 0.6, 0.4])  # so little noise that x_T still knows of the data
CLOSE = 1e-9


def chain(kind: str, slope: float) -> Callable[[np.ndarray], Chain]:
    """What builds the chains of a kind."""
    return {
        "exact": lambda data: ddpm_chain(data, NOISE),
        "upper": lambda data: shifted(ddpm_chain(data, SHORT, "upper", exact_start=True), slope),
        "one step": lambda data: ddpm_chain(data, NOISE[-1:], "upper"),
        "learned": lambda data: learned_range(ddpm_chain(data, NOISE, "posterior"), NOISE, slope, 0.2),
        "noiseless end": lambda data: noiseless_end(ddpm_chain(data, NOISE, "upper")),
        "ddim": lambda data: ddim_chain(data, NOISE, 0.6),
        "ddim, no noise": lambda data: ddim_chain(data, NOISE, 0.0),
        "dense": lambda data: centred(shifted(ddpm_chain(data, SHORT, exact_start=True), slope)),
        "dense ddim": lambda data: ddim_chain(data, NOISE, 0.8),
        "dense line": lambda data: ddpm_chain(data, NOISE),
    }[kind]


def shifted(given: Chain, by: float) -> Chain:
    """The chain with means of its own: those of the diffusions are all conditions'."""
    places = np.arange(given.offset.size).reshape(given.offset.shape)
    return replace(given, offset=by / 9 * np.cos(places), start_mean=by / 3 * np.sin(places[0]))


def centred(given: Chain) -> Chain:
    """The chain with an offset in its last step that takes its mean under the condition 0 to 0."""
    offset = given.offset.copy()
    offset[0] -= given.marginal(np.zeros((1, given.dimension))).mean[0]
    return replace(given, offset=offset)


SIZES = {"dense": 5, "dense ddim": 4, "dense line": 1}
KINDS = ["exact", "upper", "one step", "learned", "noiseless end", "ddim", "ddim, no noise", *SIZES]
ROUNDED = {"learned", *SIZES}  # the others agree to the last bit
MERGING = {"marginal", "last-noise", "target-end"}  # whose compiled form takes several steps as one


@cache
def pair(kind: str) -> tuple[Tokens, Tokens]:
    """A target and a draft, all their numbers different."""
    size = SIZES.get(kind, 3)
    mixing = np.random.Generator(np.random.Philox(1)).standard_normal((2, size, size))
    made = []
    for k, (scale, ar_coefficient, level, first, slope) in enumerate(
        ((1.0, 0.6, 0.1, 0.3, 0.7), (0.8, 0.5, 0.0, 0.5, -0.2))
    ):
        covariance = np.linspace(0.6, 1.4, size) * scale
        if kind in SIZES:
            covariance = mixing[k] @ mixing[k].T / size + 0.3 * np.eye(size)
        made.append(
            Tokens(chain(kind, slope), covariance, 5, np.array(ar_coefficient), np.array(level), np.array(first))
        )
    return made[0], made[1]


ENDS = {"exact", "dense", "dense line"}  # in N(c, covariance)


def models(kind: str, decoder: Truncating | InPlace) -> tuple[Tokens, Tokens]:
    """The pair; where tokens of the target cannot be integrated out, they do not follow each other in place."""
    target, draft = pair(kind)
    apart = isinstance(decoder, InPlace) and kind not in ENDS
    return replace(target, ar_coefficient=0.0) if apart else target, draft


DECODERS: list[Truncating | InPlace] = [Truncating(2, 1, 30), Truncating(1, 0, 30), InPlace(3, 1, 30)]


def same(one: Decoded, other: Decoded, exactly: bool = True) -> bool:
    """Equal decisions, and tokens that are equal, or close."""
    for a, b in zip(one[1:], other[1:], strict=True):
        if a.dtype != b.dtype or not np.array_equal(a, b):
            return False
    if exactly:
        return np.array_equal(one.tokens, other.tokens, equal_nan=True)
    return np.allclose(one.tokens, other.tokens, rtol=0, atol=CLOSE, equal_nan=True)


def outcome(form: Callable[..., Decoded], *given: Any) -> Decoded | str:
    """What was decoded, or what was complained about."""
    try:
        return form(*given)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_and_reference_form_decide_alike(kind: str, name: str, aligned: bool) -> None:
    rule, tape = make_rule(name, aligned=aligned), Tape(SEED, REPLICATES)
    for decoder in DECODERS:
        found = outcome(simulate, decoder, *models(kind, decoder), rule, tape)
        wanted = outcome(decoder.run, *models(kind, decoder), rule, tape)
        if isinstance(wanted, str):  # the ratio does not exist
            assert found == wanted
            assert "in place" not in wanted
        else:
            assert isinstance(found, Decoded)
            assert same(found, wanted, exactly=kind not in ROUNDED and name not in MERGING)


def test_every_rule_meets_every_kind_that_it_can() -> None:
    """Where the ratio does not exist is known, so that nothing is left out by mistake."""
    left_out = {
        (kind, name)
        for kind in KINDS
        for name in RULES
        if isinstance(outcome(simulate, Truncating(1, 0, 1), *pair(kind), make_rule(name), Tape(SEED, 1)), str)
    }
    noiseless = {"last-step", "reflection", "variance-product", "two-path", "path"}
    assert left_out == {
        *(("noiseless end", name) for name in noiseless),
        *(("ddim, no noise", name) for name in (*noiseless, "cspd-reference")),
        *((kind, name) for kind in ("ddim", "dense ddim") for name in (*noiseless, "cspd-reference")),
        ("learned", "marginal"),
        *((kind, "reflection") for kind in ("exact", "learned", "dense", "dense line")),  # covariances that differ
    }
    assert not [name for _, name in left_out if name in ("last-noise", "target-end")], "any sampler has a last noise"


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("noiseless", ["target", "draft"])
def test_last_noises_of_two_steps_are_compared_alike(noiseless: str, aligned: bool) -> None:
    """Where noise is shared, the target's state behind the draft's last noise would know the draft."""
    target, draft = pair("exact")
    target, draft = (
        model.modified(noiseless_end) if name == noiseless else model
        for name, model in (("target", target), ("draft", draft))
    )
    rule, tape, decoder = make_rule("last-noise", aligned=aligned), Tape(SEED, REPLICATES), Truncating(2, 1, 30)
    found, wanted = (outcome(form, target, draft, rule, tape) for form in (partial(simulate, decoder), decoder.run))
    if aligned and noiseless == "draft":
        assert isinstance(wanted, str)
        assert wanted.startswith("the draft's last noise is that of step 2, the target's that of step 1; expected")
        assert found == wanted
    else:
        assert isinstance(wanted, Decoded)
        assert isinstance(found, Decoded)
        assert same(found, wanted, exactly=False)


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "not aligned"])
def test_reflections_are_compiled_alike(aligned: bool) -> None:
    """With one dense covariance, of which there is no kind; a reflection the other way round is seen."""
    target, _ = pair("dense")
    draft = replace(target, ar_coefficient=np.array(0.4), level=np.array(0.3))
    tape = Tape(SEED, REPLICATES)
    rule = make_rule("reflection", aligned=aligned)
    for decoder in (Truncating(2, 1, 30), Truncating(1, 0, 30)):
        found, wanted = (form(target, draft, rule, tape) for form in (partial(simulate, decoder), decoder.run))
        assert same(found, wanted, exactly=False)
        assert found.trials.max() == 1
        assert (found.outcome == Outcome.REPLACED).any()
        other = decoder.run(target, draft, make_rule("last-step", aligned=aligned), tape)
        assert not same(found, other, exactly=False)


@pytest.mark.parametrize("decoder", DECODERS)
def test_every_outcome_is_met(decoder: Truncating | InPlace) -> None:
    """Also that proposals run out: a sequence is then cut, or goes on from nothing."""
    rule = TwoPath(aligned=False)
    found = simulate(decoder, *pair("exact"), rule, Tape(SEED, 400))
    met = set(np.unique(found.outcome))
    assert met == set(Outcome) - ({Outcome.TARGET} if isinstance(decoder, InPlace) and not decoder.prefill else set())
    assert found.trials.max() == 30
    assert np.isnan(found.tokens).any()
    assert same(found, decoder.run(*pair("exact"), rule, Tape(SEED, 400)))

    missing = found.outcome == Outcome.MISSING
    assert np.isnan(found.tokens[missing]).all()
    assert (np.isnan(found.tokens).all(axis=2) == missing | (found.outcome == Outcome.EXHAUSTED)).all()
    assert (found.trials[missing] == 0).all()
    first = missing.argmax(axis=1)[missing.any(axis=1)]
    assert (found.outcome[missing.any(axis=1), first - 1] == Outcome.EXHAUSTED).all()
    assert (np.diff(missing.astype(int), axis=1) >= 0).all(), "once a sequence has ended nothing is made"
    judged = [(found.outcome == fate).sum() for fate in (Outcome.ACCEPTED, Outcome.REPLACED, Outcome.EXHAUSTED)]
    assert found.acceptance == pytest.approx(judged[0] / sum(judged))


@pytest.mark.parametrize("decoder", DECODERS[1:])
def test_gates_beyond_any_exponent_are_cut_alike(decoder: Truncating | InPlace) -> None:
    """A gate so large that its product with a state is infinite, and others that exp has no room for."""
    gates = np.array([1e308, -1e5, 800.0])

    def build(data: np.ndarray) -> Chain:
        return learned_range(ddpm_chain(data, NOISE, "posterior"), NOISE, gates, 0.2)

    target, draft = (replace(tokens, build=build) for tokens in models("learned", decoder))
    tape = Tape(SEED, REPLICATES)
    found, wanted = (form(target, draft, LastStep(), tape) for form in (partial(simulate, decoder), decoder.run))
    assert same(found, wanted, exactly=False)
    states = np.array([[9.0, 9.0, -9.0], [-9.0, -9.0, 9.0]])
    roots, chain = target.chain.root(2, states), target.chain
    assert chain.learned is not None
    ends = chain.factor[1] * np.exp(chain.learned.width[1]), chain.factor[1]
    np.testing.assert_allclose(roots, [[ends[0][0], ends[1][1], ends[1][2]], [ends[1][0], ends[0][1], ends[0][2]]])


@pytest.mark.parametrize(
    "rule", [VarianceProduct(), Path(), make_rule("cspd-reference", sharpness=1.0)], ids=lambda rule: rule.name
)
def test_many_proposals_are_made_side_by_side(rule: Rule) -> None:
    """One token a sequence, and far more proposals than there are lanes for."""
    target, draft = (replace(tokens, length=1) for tokens in pair("upper"))
    draft = replace(draft, covariance=draft.covariance / 3)
    decoder, tape = Truncating(1, 0, 400), Tape(SEED, 40)
    found = simulate(decoder, target, draft, rule, tape)
    assert same(found, decoder.run(target, draft, rule, tape))
    assert ((found.trials > 1) & (found.trials < 400)).any()


@pytest.mark.parametrize("kind", ["exact", "learned", "dense"])
@pytest.mark.parametrize("decoder", DECODERS[1:])
@pytest.mark.parametrize("rule", [TwoPath(), Path()], ids=lambda rule: rule.name)
def test_neither_threads_nor_company_change_a_bit(
    kind: str, decoder: Truncating | InPlace, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = models(kind, decoder)
    whole = simulate(decoder, *given, rule, Tape(SEED, 300))
    assert same(whole, simulate(decoder, *given, rule, Tape(SEED, 300), threads=2))
    some = [299, 0, 17, 130]
    few = simulate(decoder, *given, rule, Tape(SEED, some))
    assert same(few, Decoded(*(array[some] for array in whole)))
    for group, lanes in ((11, 128), (2048, 7), (5, 1)):
        monkeypatch.setattr(run, "GROUP", group)
        monkeypatch.setattr(run, "BATCH", lanes)
        assert same(whole, simulate(decoder, *given, rule, Tape(SEED, 300), threads=3))


# What has no compiled form -----------------------------------------------------------------------------------------


def test_what_has_no_compiled_form_is_told() -> None:
    class Other(LastStep):
        """A rule nobody knows."""

    tape = Tape(SEED, 2)
    cut, exact, rule = Truncating(1), pair("exact"), LastStep()
    refused(lambda: simulate(cut, *exact, Other(), tape), "rule is a Other", "LastStep")
    refused(lambda: simulate("truncating", *exact, rule, tape), "decoder is a str", "Truncating")  # type: ignore[arg-type]
    refused(lambda: simulate(cut, *exact, rule, tape, threads=0), "threads is 0")
    one, other = (affine(2, 1, slope, [0, 0.5], length=6, ar_coefficient=0.5) for slope in (0.8, 0.7))
    apart = make_rule("last-noise", aligned=False)  # of its own model the first chain ends earlier than those ahead
    assert InPlace(3).run(one, other, apart, tape).tokens.shape == (2, 6, 1)
    refused(lambda: simulate(InPlace(3), one, other, apart, tape), "chains of [1, 2] steps", "decoder.run")
