"""Speculative Jacobi decoding over a chain compiled: :mod:`simlab.decoders.sjd` and what derives from it.

The variants differ in data (:class:`Window`): ``sjd-reference`` in the q declared for a new draft, ``sjd-unrefined`` in
the positions that are initialised again, the renewals in the positions verified behind a rejection and in the noise of
drafts. A step has three parts for each sequence: the scan to the first rejection, the coins behind it, and the new
window. Where others verify their window in another way, the first part is theirs (:func:`step_windows`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy, total
from simlab.decoders.compiled.base import Kernel, forward, next_token, scan
from simlab.decoders.initial import INITIALS
from simlab.decoders.renewal import CONTINUED
from simlab.decoders.sjd import Sjd, SjdState
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_pac import SjdPac
from simlab.decoders.sjd_pp import SjdPp
from simlab.decoders.sjd_reference import PointMassSjd, UnrefinedPointMassSjd
from simlab.decoders.sjd_unrefined import SjdUnrefined
from simlab.decoders.sjd_vp import SjdVp
from simlab.processes import Process
from simlab.randomness import Purpose
from simlab.randomness.exponentials_compiled import Races, winner
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule
from simlab.rules.compiled.dispatch import accept, redraw, step

RANDOM, REPEAT_LEFT, REPEAT_ABOVE, SAMPLE_LEFT, SAMPLE_ABOVE = range(5)
DRAWN = -1  # a token that does not stay but is drawn from its row


class Window(NamedTuple):
    """The parameters of SJD and its variants, and the grid."""

    width: int
    columns: int
    end: int  # N
    initial: int  # one of INITIALS
    bonus: bool  # a token follows a window that is accepted whole
    refined: bool  # drafts behind the first rejection are drawn from this call's rows, not initialised
    point_mass: bool  # new drafts are declared as point masses
    continued: int  # drafts are verified behind a rejection from this many positions after the committed ones on
    by_law: bool  # the q declared for a draft behind a rejection is the law of what stands there
    stale: bool = False  # ... or that of the call before, where the draft is kept
    raced: bool = False  # drafts are drawn with the noise of their position
    tau: float = -1.0  # a draft behind a rejection is reused where p exceeds tau times q; none where negative
    strength: float = -1.0  # ... or drawn from [p + strength (p - q)]+; none where negative


class Windows(NamedTuple):
    """The windows of B sequences, and the random numbers of a step."""

    tokens: np.ndarray  # int64[B, N + W + 1]
    length: np.ndarray  # int64[B]
    q: np.ndarray  # [B, W, V]: declared for the drafts
    past: np.ndarray  # [B, H, V]: rows of the last committed positions
    uniform: np.ndarray  # [V]
    coins: np.ndarray  # [B, W]
    noise: np.ndarray  # [B, 2 W + 1]: of the positions from the committed ones on
    races: Races


def window_of(decoder: Sjd, process: Process) -> Window:
    """The window of any of SJD's decoders."""
    continued = 0 if decoder.renewal in CONTINUED else decoder.window + 1
    if continued == 0 and isinstance(decoder, SjdPac) and decoder.kept == "dropped":
        continued = decoder.draft_tree().depth
    reuses = decoder if isinstance(decoder, SjdPp) else None
    rises = decoder if isinstance(decoder, SjdVp) else None
    law = isinstance(decoder, SjdAc) and decoder.relabel == "law"
    return Window(
        decoder.window,
        process.shape[1],
        process.length,
        INITIALS.index(decoder.initial),
        decoder.bonus,
        not isinstance(decoder, SjdUnrefined),
        isinstance(decoder, PointMassSjd),
        continued,
        decoder.declared == "drawn" if isinstance(decoder, SjdPp | SjdVp) else law,
        decoder.renewal == "maximal-reference",
        decoder.renewal == "gumbel",
        -1.0 if reuses is None else float(reuses.tau),
        -1.0 if rises is None else float(rises.strength),
    )


class SjdKernel(Kernel[SjdState], of=(Sjd, PointMassSjd, UnrefinedPointMassSjd, SjdUnrefined, SjdAc, SjdPp, SjdVp)):
    """SJD and its variants over one chain of drafts."""

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, rule, draft)
        self.window = window_of(decoder, process)
        self.memory = decoder.past_rows(process)
        self.wide = self.window.by_law and self.window.strength < 0  # declared rows are float64, whatever rows are in

    @property
    def rows(self) -> int:
        return 2 * self.window.width + self.memory + 1

    def start(self, uniforms: Uniforms, batch: int) -> SjdState:
        uniform, width = self.process.uniform, self.window.width
        kind = np.float64 if self.wide else uniform.dtype
        tokens, length = np.zeros((batch, self.end + width + 1), np.int64), np.zeros(batch, np.int64)
        q = np.zeros((batch, width, self.vocabulary), kind)
        past = np.empty((batch, self.memory, self.vocabulary), uniform.dtype)
        past[:] = uniform
        state = SjdState(tokens, length, q, past, np.zeros((batch, width, 0)))
        _begin(self.window, self.windows(state, uniforms))
        return state

    def windows(self, state: SjdState, uniforms: Uniforms) -> Windows:
        """A state as kernels take it."""
        tokens, length, q, past, _ = state
        coins = uniforms.row(length, self.window.width, Purpose.ACCEPT)
        noise = uniforms.row(length, 2 * self.window.width + 1, Purpose.TARGET)
        return Windows(tokens, length, q, past, self.process.uniform, coins, noise, uniforms.races())

    def step(self, state: SjdState, uniforms: Uniforms) -> np.ndarray:
        p = forward(self.process, state.tokens, state.length, self.window.width + 1)
        return _step(self.window, self.rule, p, self.windows(state, uniforms))


@njit(nogil=True, cache=True)
def _begin(window: Window, windows: Windows) -> None:
    """The first window, all of it new."""
    stay = np.empty(0, np.int64)
    none: Any = np.int64(0)  # for a literal 0 all would be compiled once more
    for b in range(len(windows.tokens)):
        draft_window(window, windows, b, windows.past[b], none, none, none, none, stay)  # which looks at no row


@njit(nogil=True, cache=True)
def _step(window: Window, rule: CompiledRule, p: np.ndarray, windows: Windows) -> np.ndarray:
    """One call with the rows ``p[B, W+1, V]``; returns the drafts accepted ``[B]``."""
    return step_windows(_scan_all, (), window, rule, p, windows)


@njit(inline="always")
def step_windows(
    verify: Callable[..., tuple[int, int]],
    given: Any,
    window: Window,
    rule: CompiledRule,
    p: np.ndarray,
    windows: Windows,
) -> np.ndarray:
    """One call with the rows ``p[B, W+1, V]``, verified as ``verify`` does; returns the drafts accepted ``[B]``.

    ``verify(given, rule, windows, b, p[W+1, V], x[W])`` says how many of the drafts x of sequence b are accepted, and
    which token follows them; ``given`` is what it needs beside rows and random numbers.
    """
    width, tokens, length = window.width, windows.tokens, windows.length
    counts = np.empty(len(p), np.int64)
    for b in range(len(p)):
        x = tokens[b, length[b] : length[b] + width].copy()
        count, after = verify(given, rule, windows, b, p[b], x)
        advance_window(window, rule, windows, b, p[b], x, count, after, count == width)
        counts[b] = count
    return counts


@njit(inline="always")
def _scan_all(
    given: tuple[()], rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray
) -> tuple[int, int]:
    return scan_window(rule, windows, b, p, x, len(x))


@njit(inline="always")
def scan_window(
    rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray, stop: int
) -> tuple[int, int]:
    """The scan of sequence b to the first rejection among the drafts before ``stop``, and the token after it."""
    q = windows.q[b]
    count = scan(rule, p, q, x, windows.coins[b], 0, stop)
    return count, next_token(rule, p, q, x, count, stop, windows.noise[b, count])


@njit(nogil=True, cache=True)
def advance_window(
    window: Window,
    rule: CompiledRule,
    windows: Windows,
    b: int,
    p: np.ndarray,
    x: np.ndarray,
    count: int,
    after: int,
    spare: bool,
) -> None:
    """Commit ``count`` drafts of sequence b and the token ``after`` them, and fill the window.

    ``p[W + 1, V]`` are the rows of the chain, ``x[W]`` its drafts; ``spare`` says that nothing was rejected.
    """
    width, length = window.width, windows.length[b]
    q, past, coins, noise = windows.q[b], windows.past[b], windows.coins[b], windows.noise[b]
    drawn = 1 if window.bonus or not spare else 0
    first, start = length + count, length + count + drawn
    new = length + width + (drawn if count == width else 0) if window.refined else start

    # verified behind the rejection: the accepted drafts of the chain stay, the others are replaced; or reused
    stay, kept, begin = np.full(width + 1, DRAWN), np.zeros(width, np.bool_), start + window.continued - length
    if window.tau >= 0 or window.strength >= 0:
        begin = start - length
    old = q.copy() if window.stale else q[:0]
    laws = np.empty((width if window.by_law else 0, len(windows.uniform)))
    for j in range(begin, width):
        if window.tau >= 0:
            reused = _reused(window.tau, p[j], q[j])
            stay[j] = x[j] if reused[x[j]] else DRAWN
            if window.by_law:
                laws[j] = np.where(reused, q[j], 0.0) + p[j] * total(np.where(reused, 0.0, q[j]))
            continue
        if window.strength >= 0:
            rising = _rising(window.strength, p[j], q[j])
            stay[j] = inverse_cdf(rising, noise[j])
            if window.by_law:
                copy(rising, laws[j])
            continue
        accepted = coins[j] < accept(rule, p[j], q[j], x[j])
        stay[j] = x[j] if accepted else redraw(rule, p[j], q[j], x[j], noise[j])
        kept[j] = accepted
        if window.by_law:
            laws[j] = step(rule, p[j], q[j])[1]

    draft_window(window, windows, b, p, first, start, new, after, stay)
    if window.by_law:
        for j in range(begin, min(width, window.end - length)):
            copy(laws[j], q[length + j - start])
    if window.stale:
        for j in range(begin, min(width, window.end - length)):
            if kept[j]:
                copy(old[j], q[length + j - start])
    memory = len(past)
    for i in range(memory):  # the rows of the last committed positions
        k = start - length + i
        copy(past[k] if k < memory else p[k - memory], past[i])
    windows.length[b] = min(start, window.end)


@njit(inline="always")
def _reused(tau: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``bool[V]``: the tokens that are reused where they are drafts."""
    found: np.ndarray = p.astype(np.float64) > tau * q.astype(np.float64)
    return found


@njit(nogil=True, cache=True)
def _rising(strength: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The row that goes on from q to p and further."""
    further = p + p.dtype.type(strength) * (p - q)
    weights = np.where(further > 0, further, 0).astype(np.float64)
    row: np.ndarray = (weights / total(weights)).astype(p.dtype)
    return row


@njit(nogil=True, cache=True)
def draft_window(
    window: Window,
    windows: Windows,
    b: int,
    p: np.ndarray,
    first: int,
    start: int,
    new: int,
    after: int,
    stay: np.ndarray,
) -> None:
    """The tokens from position ``first`` on and the q declared for them: :meth:`simlab.decoders.sjd.Sjd.draft_window`.

    A position before ``start`` is committed and gets ``after``; from ``new`` on they are new; any other gets the
    token that ``stay`` has for it, or one drawn from its row of ``p``.
    """
    length, tokens, q, races = windows.length[b], windows.tokens[b], windows.q[b], windows.races
    for position in range(first, min(first + window.width + 1, len(tokens))):
        u, slot = windows.noise[b, position - length], position - start
        if position >= min(start + window.width, window.end):
            tokens[position] = 0
            if 0 <= slot < window.width:
                q[slot] = 0
                q[slot, 0] = 1
        elif position < start:
            tokens[position] = after
        elif position < new:
            j = position - length
            tokens[position] = stay[j] if stay[j] != DRAWN else _draft(window, p[j], u, races, b, position)
            copy(p[j], q[slot])
        else:
            _initialise(window, windows, b, q[slot], p, position, new, u)


@njit(inline="always")
def _draft(window: Window, row: np.ndarray, u: float, races: Races, b: int, position: int) -> int:
    """A draft from ``row[V]``, with the noise of its position or with the uniform u."""
    return winner(row, races, b, position) if window.raced else inverse_cdf(row, u)


@njit(nogil=True, cache=True)
def _initialise(
    window: Window,
    windows: Windows,
    b: int,
    declared: np.ndarray,
    p: np.ndarray,
    position: int,
    new: int,
    u: float,
) -> None:
    """A new draft at ``position``, as the window's ``initial`` says, and its q."""
    length, tokens, past = windows.length[b], windows.tokens[b], windows.past[b]
    uniform, races = windows.uniform, windows.races
    origin, point_mass = _source(window, position, new), window.point_mass
    if window.initial >= SAMPLE_LEFT and origin < new:
        k, memory = min(max(origin - length + len(past), 0), len(past) + len(p) - 1), len(past)
        row = past[k] if k < memory else p[k - memory]
        copy(row, declared)
        tokens[position] = inverse_cdf(row, u) if point_mass else _draft(window, row, u, races, b, position)
    elif REPEAT_LEFT <= window.initial <= REPEAT_ABOVE and origin != position:
        tokens[position], point_mass = tokens[origin], True
    else:
        copy(uniform, declared)
        tokens[position] = inverse_cdf(uniform, u) if point_mass else _draft(window, uniform, u, races, b, position)
    if point_mass:
        declared[:] = 0
        declared[tokens[position]] = 1


@njit(nogil=True, cache=True)
def _source(window: Window, position: int, new: int) -> int:
    """The position a new one copies from: :mod:`simlab.decoders.initial`."""
    if window.initial == REPEAT_LEFT or window.initial == SAMPLE_LEFT:
        line = position - position % window.columns
        return line if line >= new else new - 1
    if window.initial == REPEAT_ABOVE or window.initial == SAMPLE_ABOVE:
        lines = -((new - position - 1) // window.columns)
        origin = position - lines * window.columns
        return position % window.columns if origin < 0 else origin
    return position
