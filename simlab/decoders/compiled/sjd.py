"""Speculative Jacobi decoding over a chain compiled: :mod:`simlab.decoders.sjd` and what derives from it.

A step has three parts: windows are verified, which says how many drafts each commits (:class:`Outcomes`); the drafts
behind a rejection are renewed (:mod:`simlab.decoders.compiled.renewal`); and the next windows are drafted. Where a
decoder verifies its window in another way, the first part is its own (:func:`verify_windows`). What else the variants
differ in is data (:class:`Window`): ``sjd-reference`` in the q declared for a new draft, ``sjd-unrefined`` in the
positions that are initialised again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit

from simlab.arrays_compiled import copy
from simlab.decoders.compiled.base import Kernel, forward, next_token, scan
from simlab.decoders.compiled.renewal import DRAWN, Drafts, Renewal, declares_wide, renewal_of, renewed
from simlab.decoders.initial import INITIALS
from simlab.decoders.sjd import Sjd, SjdState
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_pp import SjdPp
from simlab.decoders.sjd_reference import PointMassSjd, UnrefinedPointMassSjd
from simlab.decoders.sjd_unrefined import SjdUnrefined
from simlab.decoders.sjd_vp import SjdVp
from simlab.processes import Process
from simlab.randomness import Purpose
from simlab.randomness.exponentials_compiled import Races, winner
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules import Speculative
from simlab.rules.compiled.base import CompiledRule
from simlab.rules.compiled.dispatch import compiled

RANDOM, REPEAT_LEFT, REPEAT_ABOVE, SAMPLE_LEFT, SAMPLE_ABOVE = range(5)


class Window(NamedTuple):
    """What SJD and its variants say of their window, and the grid."""

    width: int
    columns: int
    end: int  # N
    initial: int = RANDOM  # one of INITIALS
    bonus: bool = True  # a token follows a window that is accepted whole
    refined: bool = True  # drafts behind the first rejection are drawn from this call's rows, not initialised
    point_mass: bool = False  # new drafts are declared as point masses
    raced: bool = False  # drafts are drawn with the noise of their position


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


class Outcomes(NamedTuple):
    """How the windows of B sequences were verified."""

    counts: np.ndarray  # int64[B]: the drafts that are accepted
    after: np.ndarray  # int64[B]: the token that follows them
    whole: np.ndarray  # bool[B]: nothing was rejected


def window_of(decoder: Sjd, process: Process) -> Window:
    """The window of any of SJD's decoders."""
    return Window(
        decoder.window,
        process.shape[1],
        process.length,
        INITIALS.index(decoder.initial),
        decoder.bonus,
        not isinstance(decoder, SjdUnrefined),
        isinstance(decoder, PointMassSjd),
        decoder.renewal == "gumbel",
    )


class SjdKernel(Kernel[SjdState], of=(Sjd, PointMassSjd, UnrefinedPointMassSjd, SjdUnrefined, SjdAc, SjdPp, SjdVp)):
    """SJD and its variants over one chain of drafts."""

    lossless: ClassVar[bool] = False  # whether it verifies by the lossless rule, whatever rule is given

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        super().__init__(decoder, process, compiled(Speculative()) if self.lossless else rule, draft)
        self.window = window_of(decoder, process)
        self.memory = decoder.past_rows(process)
        self.renewal, self.wide = renewal_of(decoder), declares_wide(decoder)

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
        return _step(self.renewal, self.window, self.rule, p, self.windows(state, uniforms))


@njit(nogil=True, cache=True)
def _begin(window: Window, windows: Windows) -> None:
    """The first window, all of it new."""
    stay = np.empty(0, np.int64)
    none: Any = np.int64(0)  # for a literal 0 all would be compiled once more
    for b in range(len(windows.tokens)):
        rows = windows.past[b]  # of which none is looked at
        draft_window(window, windows, b, rows, rows, none, none, none, none, stay)


@njit(nogil=True, cache=True)
def _step(renewal: Renewal, window: Window, rule: CompiledRule, p: np.ndarray, windows: Windows) -> np.ndarray:
    """One call with the rows ``p[B, W+1, V]``; returns the drafts accepted ``[B]``."""
    return advance_windows(renewal, window, rule, p, windows, _scan_all(rule, p, windows))


@njit(nogil=True, cache=True)
def _scan_all(rule: CompiledRule, p: np.ndarray, windows: Windows) -> Outcomes:
    """Every window verified up to its first rejection; apart from :func:`_step`, which is compiled for each renewal."""
    return verify_windows(_scan, (), rule, p, windows)


@njit(inline="always")
def _scan(
    given: tuple[()], rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray
) -> tuple[int, int, bool]:
    return scan_window(rule, windows, b, p, x, len(x))


@njit(inline="always")
def scan_window(
    rule: CompiledRule, windows: Windows, b: int, p: np.ndarray, x: np.ndarray, stop: int
) -> tuple[int, int, bool]:
    """As :func:`verify_windows` asks: the scan to the first rejection among the drafts before ``stop``."""
    q = windows.q[b]
    count = scan(rule, p, q, x, windows.coins[b], 0, stop)
    return count, next_token(rule, p, q, x, count, stop, windows.noise[b, count]), count == len(x)


@njit(inline="always")
def verify_windows(
    verify: Callable[..., tuple[int, int, bool]], given: Any, rule: CompiledRule, rows: np.ndarray, windows: Windows
) -> Outcomes:
    """The windows of all sequences verified as ``verify`` does, given a call's ``rows[B, M+1, V]``.

    ``verify(given, rule, windows, b, rows[M+1, V], x[W])`` says how many drafts of sequence b are accepted, x being
    those of its chain, which token follows them, and whether nothing was rejected. It has put accepted drafts that are
    not of the chain in their places. ``given`` is what it needs beside rows and random numbers.
    """
    width, tokens, length = windows.q.shape[1], windows.tokens, windows.length
    counts, after, whole = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64), np.empty(len(rows), np.bool_)
    for b in range(len(rows)):
        x = tokens[b, length[b] : length[b] + width]
        counts[b], after[b], whole[b] = verify(given, rule, windows, b, rows[b], x)
    return Outcomes(counts, after, whole)


@njit(inline="always")
def advance_windows(
    renewal: Renewal, window: Window, rule: CompiledRule, rows: np.ndarray, windows: Windows, outcomes: Outcomes
) -> np.ndarray:
    """Commit what verification has accepted, renew the drafts behind it, and fill the windows.

    The first W + 1 of ``rows[B, M+1, V]`` are those of the chain. Returns the drafts accepted ``[B]``.
    """
    width, length = window.width, windows.length
    counts, after, whole = outcomes
    for b in range(len(rows)):
        p = rows[b, : width + 1]
        x = windows.tokens[b, length[b] : length[b] + width]
        drawn = 1 if window.bonus or not whole[b] else 0  # tokens committed besides the accepted drafts
        drafts = Drafts(p, windows.q[b], x, windows.coins[b], windows.noise[b], counts[b] + drawn)
        stay, declared = renewed(renewal, rule, drafts)
        advance_window(window, windows, b, p, declared, stay, counts[b], drawn, after[b])
    return counts


@njit(nogil=True, cache=True)
def advance_window(
    window: Window,
    windows: Windows,
    b: int,
    p: np.ndarray,
    declared: np.ndarray,
    stay: np.ndarray,
    count: int,
    drawn: int,
    after: int,
) -> None:
    """Commit ``count`` drafts of sequence b and, if one is ``drawn``, the token ``after`` them, and fill the window.

    ``p[W + 1, V]`` are the rows of the chain; ``stay[W + 1]`` and ``declared[W + 1, V]`` what its drafts become, as
    :func:`~simlab.decoders.compiled.renewal.renewed` has them.
    """
    width, length, past = window.width, windows.length[b], windows.past[b]
    start = length + count + drawn
    new = length + width + (drawn if count == width else 0) if window.refined else start
    draft_window(window, windows, b, p, declared, length + count, start, new, after, stay)
    memory = len(past)
    for i in range(memory):  # the rows of the last committed positions
        k = start - length + i
        copy(past[k] if k < memory else p[k - memory], past[i])
    windows.length[b] = min(start, window.end)


@njit(nogil=True, cache=True)
def draft_window(
    window: Window,
    windows: Windows,
    b: int,
    p: np.ndarray,
    declared: np.ndarray,
    first: int,
    start: int,
    new: int,
    after: int,
    stay: np.ndarray,
) -> None:
    """The tokens from position ``first`` on and the q declared for them: :meth:`simlab.decoders.sjd.Sjd.draft_window`.

    A position before ``start`` is committed and gets ``after``; from ``new`` on they are new; any other gets the
    token that ``stay`` has for it, or one drawn from its row of ``p``, with its row of ``declared`` as q.
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
            copy(declared[j], q[slot])
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
