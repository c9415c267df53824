"""Speedup where the cost of a call depends on its rows: CSpD's equation 51 for any batch.

A call of the target on B sequences with r rows each feeds B r rows. While a machine waits for weights, rows are for
nothing, and a method is worth its tokens a step; once it computes all the time, every row is paid for, and a row that
becomes no token is lost. Everything takes floats or ``Fraction``, and gives the same back. Claims:
``leviathan.cost-of-rows``.
"""

from __future__ import annotations

from collections.abc import Callable

from simlab.arrays import Number
from simlab.checks import check_at_least, check_number
from theory.acceptance import expected_tokens

__all__ = ["affine", "best_draft_length", "break_even_batch", "speedup_by_rows"]

Cost = Callable[[int], Number]  # of a call, by its number of rows


def speedup_by_rows(tokens: Number, rows: int, batch: int, cost: Cost, drafting: Number = 0) -> Number:
    """How many times as fast a method is as plain decoding: tokens x t(B)/(t(B rows) + drafting).

    Parameters
    ----------
    tokens
        Tokens a step of one sequence: those of a whole sequence over the mean number of its steps; at least 1.
    rows
        Rows that a step asks of the target for each sequence, at least 1; gamma + 1 for gamma drafts.
    batch
        Sequences decoded at once, at least 1.
    cost
        What a call for a number of rows costs, in any unit; with what is done with the rows, if it is to be counted.
    drafting
        What else a step costs, in the same unit: gamma calls of a draft model on ``batch`` rows each, for example.

    Returns
    -------
    Number
        Relative to one call a token at the same batch; 1 for 1 token, 1 row and no drafting.

    Raises
    ------
    ValueError
        If tokens is below 1, rows or batch is no whole number >= 1, or drafting is negative.

    Notes
    -----
    Exact for any target, draft and decoder as long as every call has ``batch`` sequences and asks ``rows`` of each.
    With a constant cost t, drafting gamma c t and tokens after ``expected_tokens`` it is CSpD's equation 51.
    """
    check_number("tokens", tokens, 1)
    check_at_least("rows", rows, 1)
    check_at_least("batch", batch, 1)
    check_number("drafting", drafting)
    return tokens * cost(batch) / (cost(batch * rows) + drafting)


def affine(fixed: Number, per_row: Number) -> Cost:
    """The cost of a call that is ``fixed + per_row n`` for n rows.

    Parameters
    ----------
    fixed, per_row
        In one unit, at least 0.

    Returns
    -------
    callable
        From a number of rows to the cost.

    Raises
    ------
    ValueError
        If one of them is negative.
    """
    check_number("fixed", fixed)
    check_number("per_row", per_row)
    return lambda rows: fixed + per_row * rows


def break_even_batch(
    tokens: Number,
    rows: int,
    fixed: Number,
    per_row: Number,
    drafting: Number = 0,
    drafting_per_sequence: Number = 0,
    per_sequence: Number = 0,
) -> Number:
    """The batch at which a method is as fast as plain decoding, where a call costs a fixed part and so much a row.

    Parameters
    ----------
    tokens, rows
        As for :func:`speedup_by_rows`.
    fixed, per_row, per_sequence
        A call for n rows of B sequences costs ``fixed + per_sequence B + per_row n``.
    drafting, drafting_per_sequence
        What else a step of a batch B costs: ``drafting + drafting_per_sequence B``.

    Returns
    -------
    Number
        At smaller batches the method is faster, at larger ones slower; below 1 it never pays.

    Raises
    ------
    ZeroDivisionError
        If a larger batch loses nothing: there is no batch from which on the method is slower.

    Notes
    -----
    ``((tokens - 1) fixed - drafting)`` over ``per_row (rows - tokens) + drafting_per_sequence - per_sequence (tokens -
    1)``: what a step saves whatever the batch, over what it loses with each sequence.
    """
    lost = per_row * (rows - tokens) + drafting_per_sequence - per_sequence * (tokens - 1)
    if not lost > 0:
        raise ZeroDivisionError("a larger batch loses nothing: there is none from which on the method is slower")
    return ((tokens - 1) * fixed - drafting) / lost


def best_draft_length(alpha: Number, batch: int, cost: Cost, draft: Number, most: int) -> int:
    """The draft length with the largest speedup under i.i.d. acceptance; the shortest of several.

    Parameters
    ----------
    alpha
        The acceptance rate, in [0, 1].
    batch
        Sequences decoded at once, at least 1.
    cost
        As for :func:`speedup_by_rows`.
    draft
        What a draft for all sequences of the batch costs, in the same unit, at least 0.
    most
        The longest that is looked at, at least 0.

    Returns
    -------
    int
        0, plain decoding, to ``most``.

    Raises
    ------
    ValueError
        If alpha is outside [0, 1], batch or most is no such whole number, or draft is negative.
    """
    check_at_least("most", most, 0)

    def faster(gamma: int) -> tuple[Number, int]:
        return speedup_by_rows(expected_tokens(alpha, gamma), gamma + 1, batch, cost, gamma * draft), -gamma

    return max(range(most + 1), key=faster)
