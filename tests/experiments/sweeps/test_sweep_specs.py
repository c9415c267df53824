"""Sweeps before they run: what a spec means and what is refused; cells, recorders, tables over a codebook."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.sweeps import cells, parse_spec, read_spec
from experiments.sweeps.cells import compute, in_working_order
from experiments.sweeps.recorders import RECORDERS, Sample, log_probabilities, recorded
from experiments.sweeps.tables import tables
from simlab.decoders import make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.processes import Pair, TableProcess, make_process
from simlab.randomness import Tape
from simlab.rules import codebook_distances, codebook_neighbours, make_rule
from tests.support.refusals import in_turn
from tests.support.sweeps import CODEBOOK, COUNTS, GOOD, LOCAL, changed

pytestmark = pytest.mark.property

# Specs -------------------------------------------------------------------------------------------------------------

Refused = list[tuple[str, tuple[str, ...], tuple[str, ...]]]  # lines of GOOD, what stands instead, what is named

DECODER, SECOND, RULE, PROCESS = "[[decoder]] 1 (sjd)", "[[decoder]] 2 (spec", "[[rule]] 1 (lantern)", "[[process]] 1 ("
WINDOWS, SEEDS, REPLICATES = "grid.window = [2, 3]", "seeds = [1, 2]", "replicates = 5"
REFUSED: Refused = [
    ('title = "A small sweep"', ("title =",), ("line 3, column 8",)),
    (REPLICATES, ("",), ("'replicates'",)),
    (REPLICATES, ("replicate = 5",), ("'replicate'", "did you mean replicates")),
    (REPLICATES, ('replicates = "5"', "replicates = 0", "replicates = 4294967297"), ("replicates is",)),
    (REPLICATES, ("replicates = 5\nchunk = 0",), ("chunk is 0",)),
    ('name = "small"', ("name = 1", "name = ''", "name = '../small'"), ("name is",)),
    (SEEDS, ("seeds = []", "seeds = 1", "seeds = '0..999999999'", "seeds = [1, 1]"), ("seeds is",)),
    (SEEDS, ("seeds = [1, -2]", "seeds = [9223372036854775808]", "seeds = [true]"), ("seeds holds",)),
    ('"loglik"]', ('"likelihood"]',), ("record holds 'likelihood'", "steps, lengths, loglik")),
    ('"loglik"]', ('"lengths"]',), ("record is ['lengths', 'lengths']",)),
    ('["lengths", "loglik"]', ('"lengths"',), ("record is 'lengths'",)),
    (f'[[decoder]]\nname = "sjd"\n{WINDOWS}\n\n[[decoder]]', ("[decoder]",), ("decoder is {",)),
    ('name = "sjd"', ("",), ("[[decoder]] 1", "'name'")),
    ('name = "sjd"', ("name = 3",), ("[[decoder]] 1", "name is 3")),
    (
        WINDOWS,
        ("grid.window = []", "grid.window = {}", "grid.window = 2", "grid.window = [nan]"),
        (DECODER, "grid.window is"),
    ),
    (WINDOWS, ("grid.window = '1..10001'",), (DECODER, "10,001")),
    (WINDOWS, ("grid = 2",), (DECODER, "grid is 2")),
    (WINDOWS, ("grid.window = [2, 2]",), (DECODER, DECODER)),
    (WINDOWS, ("window = 2\ngrid.window = [3]",), (DECODER, "window", "grid")),
    (WINDOWS, ("window = 2\ngrid.window.x = [3]",), (DECODER, "window is 2")),
    (WINDOWS, ('grid.name = ["sjd"]',), (DECODER, "grid.name")),
    ("gamma = 2", ("gamma = nan", "gamma = 1979-05-27"), (SECOND, "gamma is")),
    ("gamma = 2", (f"gamma = {'[' * 3000}",), ("nested too deeply",)),
]
LANTERN = GOOD[GOOD.index('name = "lantern"') :].strip()
NOT_MADE: Refused = [
    (WINDOWS, ("grid.window = [2, 0]",), (DECODER, "window is 0")),
    (WINDOWS, ("windw = 2",), (DECODER, "'windw'")),
    (WINDOWS, ("",), (DECODER, "'window'")),
    (WINDOWS, ("window = 1_000_000",), (DECODER, "window is 1000000", "65,536")),
    (
        f'"sjd"\n{WINDOWS}',
        (
            '"sjd-pd"\nwindow = 60_000\ncandidates = 60_000\ndepth = 2',
            '"sjd-pd"\nwindow = 9\ncandidates = 9\ndepth = 9\ntree = "full"',
            '"traversal"\nbranching = [300, 300]',
            '"dynamic-tree"\ntotal = 30_000',
        ),
        ("[[decoder]] 1", "more than 65,536 drafts"),
    ),
    ('name = "sjd"', ('name = "sdj"',), ("[[decoder]] 1 (sdj)", "'sdj'", "did you mean sjd", "autoregressive")),
    ('name = "lantern"', ('name = "lanten"',), ("[[rule]] 1 (lanten)", "'lanten'", "did you mean lantern")),
    ("vocabulary = 9", ("vocabulary = 0",), (PROCESS, "vocabulary is 0")),
    ("[0.0, 0.5]", ("[0.0, 1.5]",), (RULE, "delta is 1.5")),
    ("{ count = 2 }", ("{ count = 9 }",), (RULE, "neighbours", "count is 9", "8")),
    ("{ count = 2 }", ("{ size = 2 }",), (RULE, "neighbours", "'size'", "count")),
    ("{ count = 2 }", ('"codebook"',), (RULE, "neighbours", "'count'")),
    ("{ count = 2 }", ('{ count = 2, measure = "l1" }',), (RULE, "neighbours", "measure is 'l1'")),
    ("{ count = 2 }", ("[[1], [0]]",), (RULE, "neighbours", "2 tokens", "9")),
    (
        LANTERN,
        ('name = "gsd-reference"\nabove = 10_000_000_000_000_000_000_000',),
        ("(gsd-reference)", "smaller numbers"),
    ),
    (CODEBOOK, ('name = "markov"\nvocabulary = 9',), ("codebook", PROCESS)),
    (CODEBOOK, (LOCAL + "\nimage = 2000000000",), (PROCESS, "image", "replicates", "10000000005")),
    ("length = 6", ("length = 6\nprocessors = 1",), (PROCESS, "processors is 1")),
    ("length = 6", ("length = 6\nprocessors = { topk = 1 }",), (PROCESS, "'topk'")),
    ("length = 6", ("length = 1_000_000_000",), (PROCESS, "length is 1000000000", "1,048,576")),
    (REPLICATES, ("replicates = 4_294_967_296",), ("1,024", "50,331,648 cells")),
]


def flat(rows: Refused) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(old, new, told) for old, news, told in rows for new in news]


@pytest.mark.parametrize(("old", "new", "told"), flat(REFUSED))
def test_a_bad_spec_is_refused_by_key(old: str, new: str, told: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^bad\.toml: ") as caught:
        parse_spec(changed(old, new), "bad.toml")
    in_turn(str(caught.value), told)


@pytest.mark.parametrize(("old", "new", "told"), flat(NOT_MADE))
def test_a_cell_that_cannot_be_made_is_found_before_anything_runs(old: str, new: str, told: tuple[str, ...]) -> None:
    spec = parse_spec(changed(old, new), "spec")
    with pytest.raises(ValueError, match=r"\[\[|cells") as caught:
        cells(spec)
    in_turn(str(caught.value), told)


AXES = st.dictionaries(
    st.sampled_from(["window", "a.b", "a.c", "d"]), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)
)


@given(AXES, st.integers(1, 2))
def test_a_grid_is_all_combinations_the_last_varying_fastest(axes: dict[str, list[int]], fixed: int) -> None:
    lines = [f"grid.{name} = {values}" for name, values in axes.items()]
    spec = parse_spec(changed("grid.window = [2, 3]", "\n".join([f"other = {fixed}", *lines])), "spec")
    found = [entry for entry in spec.decoders if entry.name == "sjd"]
    assert len(found) == prod(map(len, axes.values()))
    tables_first = sorted(axes, key=lambda name: (list(dict.fromkeys(n[0] for n in axes)).index(name[0]), 0))
    points = [tuple(entry.point[name] for name in tables_first) for entry in found]
    assert points == list(product(*(axes[name] for name in tables_first)))
    for entry in found:
        assert entry.parameters["other"] == fixed
        assert entry.parameters.get("a", {}) == {k[2:]: v for k, v in entry.point.items() if k.startswith("a.")}


def test_a_range_is_the_list_it_stands_for() -> None:
    listed, ranged = (
        parse_spec(GOOD.replace("[1, 2]", seeds).replace("grid.window = [2, 3]", window), "spec")
        for seeds, window in (("[3, 4, 5]", "grid.window = [2, 3]"), ('"3..5"', 'grid.window = "2..3"'))
    )
    assert listed.seeds == ranged.seeds == (3, 4, 5)
    assert listed.decoders == ranged.decoders


def test_a_file_of_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_spec(path) == parse_spec(GOOD, "spec")


def test_tables_may_be_written_in_parts() -> None:
    whole = parse_spec(changed("{ count = 2 }", '{ count = 2, measure = "cosine" }'), "spec")
    parts = changed("neighbours = { count = 2 }", 'neighbours.measure = "cosine"\ngrid.neighbours.count = [2]')
    assert {rule.text for rule in whole.rules} == {rule.text for rule in parse_spec(parts, "spec").rules}


# Cells -------------------------------------------------------------------------------------------------------------


def keys(text: str) -> list[str]:
    return [cell.key for cell in cells(parse_spec(text, "spec"))]


def test_cells_that_share_tables_and_images_are_computed_together() -> None:
    text = changed(CODEBOOK, LOCAL + '\ngrid.image = "0..2"').replace("neighbours = { count = 2 }", COUNTS)
    found = in_working_order(cells(parse_spec(text, "spec")))
    for shared in (
        lambda cell: cell.rule.point["neighbours.count"],
        lambda cell: cell.rule.text,
        lambda cell: (cell.rule.text, cell.process.text),
    ):
        told = [shared(cell) for cell in found]
        assert sum(a != b for a, b in pairwise(told)) == len(set(told)) - 1
    numbers = {(cell.process.parameters["image"], r) for cell in found for r in range(cell.first, cell.stop)}
    assert numbers == {(image, image * 5 + r) for image in range(3) for r in range(5)}


def test_a_key_depends_on_what_is_computed_and_on_nothing_else() -> None:
    same = changed("vocabulary = 9\nlength = 6", 'label = "a codebook"\nlength = 6\nvocabulary = 9')
    assert keys(same) == keys(GOOD)
    assert keys(changed("A small sweep", "Another title")) == keys(GOOD)
    for old, new in [
        ("seeds = [1, 2]", "seeds = [3, 4]"),
        ("length = 6", "length = 7"),
        ("length = 6", "length = 6\nprocessors = { top_k = 5 }"),
        ("grid.window = [2, 3]", "grid.window = [4, 5]"),
        ("[0.0, 0.5]", "[0.1, 0.6]"),
        ("{ count = 2 }", "{ count = 3 }"),
        ("replicates = 5", "replicates = 6"),
        ('["lengths", "loglik"]', '["loglik"]'),
    ]:
        both = set(keys(changed(old, new))) & set(keys(GOOD))
        # with other windows the cells of the third decoder stay
        assert len(both) == (4 if "window" in old else 0), new


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 3))
def test_cells_cut_the_replicates_of_an_image_without_rest(replicates: int, chunk: int, image: int) -> None:
    text = changed("replicates = 5", f"replicates = {replicates}\nchunk = {chunk}").replace(CODEBOOK, LOCAL)
    spec = parse_spec(text.replace("entropy", f"image = {image}\nentropy"), "spec")
    first = cells(spec)[: -(-replicates // chunk)]
    numbers = [number for cell in first for number in range(cell.first, cell.stop)]
    assert numbers == list(range(image * replicates, (image + 1) * replicates))
    assert all(cell.stop - cell.first <= chunk for cell in first)


def test_a_cell_is_what_the_decoder_gives() -> None:
    """The same tokens as running everything by hand, so the same steps."""
    cell = next(c for c in cells(parse_spec(GOOD, "spec")) if c.decoder.name == "sjd" and c.rule.point["delta"] == 0.5)
    pair = make_process("codebook", vocabulary=9, length=6, clusters=3)
    rule = make_rule("lantern", neighbours=codebook_neighbours(pair.codebook, 2), delta=0.5)
    expected = run(make_decoder("sjd", window=2), pair.target, rule, Tape(1, 5))
    frame = compute(cell)
    assert frame["steps"].tolist() == expected.steps.tolist()
    logs = [log_probabilities(pair.target, tokens).mean() for tokens in expected.tokens]
    assert frame["loglik_mean"].tolist() == logs


def test_processors_apply_to_target_and_draft() -> None:
    text = changed("length = 6", "length = 6\nprocessors = { top_k = 1 }")
    # after top-k = 1 there is one sequence, the draft and the target may disagree on it
    spec = parse_spec(text, "spec")
    frames = [compute(cell) for cell in cells(spec) if cell.rule.point["delta"] == 0]
    assert all((frame["loglik_mean"] == 0).all() for frame in frames)
    assert (compute(cells(parse_spec(GOOD, "spec"))[0])["loglik_mean"] < 0).all()


# Recorders ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> Sample:
    pair = make_process("codebook", vocabulary=9, length=6, clusters=3)
    decoder, rule, tape = make_decoder("sjd", window=3), make_rule("speculative"), Tape(5, 20)
    return Sample(simulate(decoder, pair.target, rule, tape), pair, decoder, rule, tape)


def test_the_recorders_agree_with_the_simulation(sample: Sample) -> None:
    columns = recorded(("steps", "lengths", "loglik"), sample)
    for b, steps in enumerate(sample.simulation.steps):
        lengths = np.array(columns["lengths"][b])
        assert lengths.sum() == steps
        assert (lengths * np.arange(1, len(lengths) + 1)).sum() == 6
        assert lengths[-1] > 0
        assert columns["compression"][b] == 6 / steps
        committed = sample.simulation.committed[b]
        assert all(n == (committed == k).sum() for k, n in enumerate(lengths, 1))


def test_log_probabilities_are_those_of_the_target_given_all_before(sample: Sample) -> None:
    tokens = sample.simulation.tokens[0]
    rows = [sample.pair.target.forward(tokens[None], np.array([i]), 1)[0, 0] for i in range(6)]
    np.testing.assert_allclose(
        log_probabilities(sample.pair.target, tokens), [np.log(row[x]) for row, x in zip(rows, tokens, strict=True)]
    )


def test_log_probabilities_do_not_depend_on_the_blocks(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = sample.simulation.tokens[0]
    whole = log_probabilities(sample.pair.target, tokens)
    monkeypatch.setattr("experiments.sweeps.recorders.NUMBERS", 4 * 9)
    np.testing.assert_allclose(log_probabilities(sample.pair.target, tokens), whole, rtol=1e-12)


def test_a_token_the_target_excludes_has_minus_infinity() -> None:
    never = TableProcess(vocabulary=2, length=3, pmf=lambda prefix: [1.0, 0.0])
    assert log_probabilities(never, np.array([0, 1, 0])).tolist() == [0, -np.inf, 0]
    simulation = type("S", (), {"tokens": np.array([[0, 1, 0]])})
    made = RECORDERS["loglik"](Sample(simulation, Pair(never, None, None), None, None, None))  # type: ignore[arg-type]
    assert made["loglik_mean"][0] == -np.inf
    assert np.isnan(made["loglik_std"][0])


@pytest.mark.parametrize("wrong", [{"new": [1]}, {"steps": list(range(20))}], ids=["too few entries", "a known column"])
def test_a_recorder_must_give_one_entry_a_replicate(
    wrong: dict[str, Any], sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECORDERS, "wrong", lambda sample: wrong)
    with pytest.raises(ValueError, match="'wrong'"):
        recorded(("steps", "wrong"), sample)


# Tables over a codebook --------------------------------------------------------------------------------------------


def test_tables_are_those_of_the_codebook() -> None:
    codebook = np.random.default_rng(0).normal(size=(12, 3))
    made = {key: t.of(codebook) for key, t in tables({"neighbours": {"count": 3, "measure": "cosine"}}).items()}
    assert (made["neighbours"] == codebook_neighbours(codebook, 3, "cosine")).all()
    for given_as, normalised in (("codebook", False), ({}, False), ({"normalised": True}, True)):
        distances = tables({"distances": given_as})["distances"].of(codebook)
        assert (distances == codebook_distances(codebook, normalised)).all()
    assert tables({"neighbours": [[1], [0]], "labels": [0, 1], "delta": 0.5}) == {}


@given(st.integers(4, 12), st.integers(1, 4), st.integers(0, 3))
def test_groups_are_those_of_the_nearest_centre(size: int, groups: int, seed: int) -> None:
    codebook = np.random.default_rng(size).normal(size=(size, 2))
    labels = tables({"labels": {"groups": groups, "seed": seed}})["labels"].of(codebook)
    away = codebook_distances(codebook)
    # there is one token in each group such that every token is nearest to that of its own
    members = [[v for v in range(size) if labels[v] == g] for g in range(groups)]
    assert any(
        all(away[v, centres[labels[v]]] <= away[v, c] for v in range(size) for c in centres)
        for centres in product(*members)
    )
