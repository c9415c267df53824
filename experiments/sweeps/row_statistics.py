"""Recorders of the target's rows: how they change with the preceding tokens and from call to call.

``perturbation``
    What a replaced token does to the rows behind it; SJD-PAC, Fig. 4. At 24 places spread over the sequence (fewer in a
    short one) the token is replaced by another one, drawn from its row without it; all other tokens stay.
    ``perturbation_tv``: TV between the rows before and after by the offset 1, 2, ... up to 64 (or 64 before the end),
    mean over the places; both rows are of calls that begin behind the place, so noise that calls have is the same in
    both. ``perturbation_other_call_tv``: the same where the row after comes from a call that begins one position
    earlier. ``repeat_tv``: TV between these two calls on the *same* tokens, mean over offsets: 0 but for noise. Of a
    single token, behind which there are no rows, lists are empty and the mean is NaN.
``keep``
    The probability that a draft stays the same from one call to the next, by the offset 0, 1, ... in the window: p' and
    p are the rows that two calls in a row gave one position. ``keep``: 1 - TV(p', p), if it is verified;
    ``keep_drawn``: sum p' p, if it is drawn anew (SJD-PAC, section 4.2). Means over the sequence, NaN where no
    position was seen twice; empty lists for a decoder without such a window.
``pair_tv``
    How target and draft differ along the sequence, means over its positions: ``pair_tv``, their TV; ``pair_entropy``,
    the target's in bits; ``pair_relative``, the standard deviation over tokens of log q(v)/p(v), so the size of the
    *relative* difference between tokens; ``pair_absolute``, the mean of |p(v) - q(v)|. NaN without a draft, and
    ``pair_relative`` where two rows have no token in common.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from experiments.sweeps.replay import calls, replayable
from experiments.sweeps.sample import Columns, Sample
from simlab.arrays import total_variation, wide, without
from simlab.decoders import Sjd
from simlab.processes import Process
from simlab.randomness import Purpose, Tape

PLACES = 24
OFFSETS = 64
BLOCK = 64  # positions whose rows are looked at together


def perturbation(sample: Sample) -> Columns:
    """TV between rows before and after a token is replaced, by offset."""
    found = [_perturbed(sample, b) for b in range(len(sample.tape.replicates))]
    return {
        "perturbation_tv": [own[0].mean(axis=0).tolist() for own in found],
        "perturbation_other_call_tv": [own[1].mean(axis=0).tolist() for own in found],
        "repeat_tv": np.array([own[2].mean() if own.size else np.nan for own in found]),
    }


def keep(sample: Sample) -> Columns:
    """The probability that a draft stays the same, verified or drawn anew, by offset in the window."""
    count = len(sample.tape.replicates)
    kept = isinstance(sample.decoder, Sjd) and replayable(sample.decoder)
    found = [_retention(sample, b) if kept else ([], []) for b in range(count)]
    return {"keep": [own[0] for own in found], "keep_drawn": [own[1] for own in found]}


def pair_tv(sample: Sample) -> Columns:
    """TV between target and draft along the sequence, and what it is made of."""
    values = np.array([_apart(sample, tokens) for tokens in sample.simulation.tokens])
    return dict(zip(("pair_tv", "pair_entropy", "pair_relative", "pair_absolute"), values.T, strict=True))


def _perturbed(sample: Sample, replicate: int) -> np.ndarray:
    """``[3, places, offsets]``: replaced, replaced and in another call, in another call only."""
    target, tokens = sample.pair.target, sample.simulation.tokens[replicate]
    offsets = min(OFFSETS, target.length - 1)
    places = np.unique(np.linspace(0, target.length - 1 - offsets, PLACES).astype(np.int64))
    others = _others(sample, replicate, places)
    found = np.empty((3, len(places), offsets))
    for k, place in enumerate(places):
        replaced = tokens.copy()
        replaced[place] = others[k]
        before, after = (_rows(target, own, place + 1, offsets) for own in (tokens, replaced))
        before_there, after_there = (_rows(target, own, place, offsets + 1)[1:] for own in (tokens, replaced))
        moved = after, after_there, before_there
        found[:, k] = [np.asarray(total_variation(before, rows)) for rows in moved]
    return found


def _others(sample: Sample, replicate: int, places: np.ndarray) -> np.ndarray:
    """For each place another token than there is, from its row; the same where the row has no other."""
    target, tokens = sample.pair.target, sample.simulation.tokens[replicate]
    rows = np.stack([_rows(target, tokens, place, 1)[0] for place in places])
    left = without(rows, tokens[places])
    left = np.where(left.any(axis=1, keepdims=True), left, rows)
    # no decoder takes as many steps, so nothing else has this chance
    tape = Tape(sample.tape.seed, [int(sample.tape.replicates[replicate])], target.length + 1)
    return np.asarray(tape.draw(left[None], places[None], Purpose.DRAFT)[0])


def _retention(sample: Sample, replicate: int) -> tuple[list[float], list[float]]:
    """The means of 1 - TV(p', p) and of sum p' p over the calls, by offset in the window."""
    length, before = sample.pair.target.length, None
    for call in calls(sample, replicate):
        p, width = wide(call.p), len(call.q)
        if before is None:
            seen, sums = np.zeros(width), np.zeros((2, width))
        else:
            start, rows = before
            first = call.start - start  # of the rows of the call before
            count = min(len(rows) - first, width, length - call.start)
            if count > 0:
                own, old = p[:count], rows[first : first + count]
                seen[:count] += 1
                sums[:, :count] += 1 - total_variation(old, own), (old * own).sum(axis=1)
        before = call.start, p
    with np.errstate(invalid="ignore"):
        mean = sums / seen
    return mean[0].tolist(), mean[1].tolist()


def _apart(sample: Sample, tokens: np.ndarray) -> tuple[float, ...]:
    """TV, entropy, relative and absolute difference of the rows along a sequence, means over its positions."""
    target, draft, _ = sample.pair
    values = []
    for first in range(0, target.length, BLOCK):
        count = min(BLOCK, target.length - first)
        p = _rows(target, tokens, first, count)
        q = np.full_like(p, np.nan) if draft is None else _rows(draft, tokens, first, count)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((p > 0) & (q > 0), np.log(q / p), np.nan)
        relative = np.sqrt(_mean_of_known((ratio - _mean_of_known(ratio)) ** 2))[:, 0]
        values.append([total_variation(p, q), entr(p).sum(axis=1) / np.log(2), relative, abs(p - q).mean(axis=1)])
    return tuple(np.concatenate(values, axis=1).mean(axis=1))


def _mean_of_known(values: np.ndarray) -> np.ndarray:
    """``[count, 1]``: the mean of each row but for what is NaN, which it is where all are."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values, axis=1, keepdims=True) / (~np.isnan(values)).sum(axis=1, keepdims=True))


def _rows(process: Process, tokens: np.ndarray, start: int, count: int) -> np.ndarray:
    """``float64[count, V]``: the rows from ``start`` on, given ``tokens[N]``."""
    return np.asarray(wide(process.forward(tokens[None], np.array([start]), count))[0])
