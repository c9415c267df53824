"""The table of image methods: its numbers are computed again, and its entries are there."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest

from simlab.decoders import Block, Decoder, Sjd, SjdPac, SjdPp, SpeculativeDecoder
from simlab.decoders.local import Local
from simlab.decoders.phrase import Phrase
from simlab.rules import Grouped, Lantern, Mixture, Rule, SamplerMatch, Speculative
from theory.claims import CLAIMS
from theory.claims.hierarchical.hierarchical import THIRDS, accepted, off, same_rows
from theory.claims.images.diffusions import accepted_steps
from theory.claims.images.engines import rounding
from theory.claims.images.jacobi import BEFORE, NOW, NoisyRows, extrapolated
from theory.claims.images.relaxed import local_tv, pooled
from theory.claims.lossy.truncation import PAIR
from theory.distances import tv
from theory.exact import acceptance, deviation, mean, sequence_law, step_law
from theory.example_processes import sticky_process

pytestmark = pytest.mark.exact

PAGE = (Path(__file__).parents[1] / "docs" / "image-methods.md").read_text(encoding="utf-8")
RULE = Speculative()
P, Q = PAIR
KEYS = (
    *("sjdpp", "sjd-vp", "sjd-pv", "sjd2", "mulo-sd", "vvs", "cascade-image"),
    *("speculative-diffusion", "block-diffusion", "sampler-match", "declared-draft"),
)


def three(value: Any) -> str:
    return f"{float(value):.3f}"


def on_chain(decoder: Decoder) -> str:
    chain = sticky_process(F(4, 5), 2, 5)
    apart = deviation(decoder, chain, RULE)
    return f"{three(5 / mean(sequence_law(decoder, chain, RULE)[1]))} on the chain|TV {three(apart) if apart else 0}"


def on_pair(rule: Rule, q: Any = Q) -> str:
    return f"{three(acceptance(rule, P, q))} on the pair|TV {three(tv(step_law(rule, P, q), P))}"


def of_two(decoder: Decoder) -> str:
    case = same_rows(*THIRDS, 2)
    return f"{three(accepted(decoder, case))} of two|TV {three(off(decoder, case))}"


def cascade() -> str:
    law, accepts = pooled(P, (2, 1), {2: (2, 1), 1: (1, 2)})
    return f"{three(accepts)} on the pair|TV {three(tv(law, P))}"


def predicted() -> str:
    drawn = extrapolated(NOW, BEFORE)
    return f"TV {three(tv(step_law(RULE, NOW, NOW, drawn=drawn), NOW))}"


NUMBERS: dict[str, Callable[[], str]] = {  # of a row by its method, what has to stand in it, parts between bars
    "SJD": lambda: on_chain(Sjd(4)),
    "GSD, groups fixed": lambda: on_pair(Grouped((0, 1, 0))),
    "LANTERN": lambda: on_pair(Lantern([[1, 2], [2, 0], [1, 0]], F(2, 5))),
    "SCD, maximal or Gumbel": lambda: on_chain(Sjd(4, renewal="maximal")),
    "SCD, published rows": lambda: on_chain(Sjd(4, renewal="maximal-reference")),
    "SJD-PAC": lambda: on_chain(SjdPac(4, candidates=2, depth=1)),
    "SJD++": lambda: on_chain(SjdPp(4, declared="newest")),
    "SJD++, mended": lambda: on_chain(SjdPp(4)),
    "SJD-VP": predicted,
    "SJD-PV": lambda: of_two(Phrase(2)),
    "SJD-PV, shortened as SJD-SV's": lambda: of_two(Phrase(2, failing="shorten")),
    "block verification": lambda: of_two(Block(2)),
    "SJD2": lambda: f"TV {three(deviation(NoisyRows(3), sticky_process(F(4, 5), 2, 3), RULE))}",
    "MuLo-SD, locality alone": lambda: f"TV {three(local_tv(Local(3, reach=1), 3))}|{three(F(3, 40))} at best",
    "VVS, a skipped token": lambda: on_pair(Mixture(0), (F(0), F(1, 2), F(1, 2))),
    "CASCADE, given sets": cascade,
    "speculative sampling of diffusions": lambda: f"{three(accepted_steps(1.0, 1.0)[0])} of two",
    "block verification of diffusions": lambda: f"{three(accepted_steps(1.0, 1.0)[1])} of two",
    "sampler match (llama.cpp, mlx-lm)": lambda: on_pair(SamplerMatch()),
    "drafts of another row than declared": lambda: f"TV {three(rounding(2, 20, 0.7))}",
}


def rows() -> dict[str, list[str]]:
    """The cells of the table by its first."""
    table = PAGE.partition("|---|---|---|---|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    return {cells[0]: cells for cells in ([cell.strip() for cell in row.split("|")[1:-1]] for row in table)}


@pytest.mark.parametrize("method", NUMBERS)
def test_a_number_of_the_table(method: str) -> None:
    assert [part for part in NUMBERS[method]().split("|") if part not in rows()[method][3]] == []


def test_no_number_is_left_out() -> None:
    assert [method for method, cells in rows().items() if re.search(r"\d", cells[3]) and method not in NUMBERS] == []


def test_the_lossless_rule_that_others_are_set_beside() -> None:
    found = " ".join(PAGE.split())
    assert f"accepts {three(acceptance(RULE, P, Q))} on the pair" in found
    assert f"{of_two(SpeculativeDecoder(2)).partition(' ')[0]} of two" in found


def test_entries_of_the_table_exist_and_every_method_has_its_law() -> None:
    named = {name for cells in rows().values() for name in re.findall(r"`([^`]+)`", cells[6])}
    assert named <= CLAIMS.keys()
    assert {f"{key}.law" for key in KEYS} <= named
