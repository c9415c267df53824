"""Decoders as a few kernels a step, for CUDA: the fused form of SJD, its variants and speculative decoding.

Equal tokens on the same tape as :mod:`simlab.decoders.sjd` and what derives from it, :mod:`simlab.decoders.speculative`
and :mod:`simlab.decoders.autoregressive`. Around the one call of the target a step launches

1. ``draw_candidates``, for a tree: the siblings of every node, before the call;
2. ``verify_families``, for a tree: whether a node has an accepted child, for all nodes at once;
3. ``blur``, for SJD2: the rows behind drafts that are noise;
4. ``walk``: how many drafts are accepted, and what the next window is drawn from; or, for a block, ``weigh``: what its
   coins depend on, for all prefixes at once, and ``step_back`` in place of the walk;
5. ``rise``, for SJD-VP: the rows that drafts behind a rejection are drawn from;
6. ``redraw``: block sums of the rows that tokens are drawn from, a program each;
7. ``commit``: the tokens, the length, the counts;

and a decoder with a draft process ``draw_draft`` after each of its calls. Nothing is read by the host.

Rows stay where the process has put them: those of a call are kept until the next one is verified, and a draft carries
the number of its row there. So a process that writes every call's rows into the same memory needs two, in turn.
Rows that a decoder makes itself are in memory of its own: all of a call for SJD2, and for SJD-VP those of drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import triton
from torch import Tensor

from simlab.arrays import BLOCK
from simlab.decoders.base import Decoder
from simlab.decoders.compiled.renewal import verified_from
from simlab.decoders.compiled.sjd import Window, window_of
from simlab.decoders.initial import INITIALS
from simlab.decoders.phrase import SjdPv
from simlab.decoders.run import check_given
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd2 import Sjd2
from simlab.decoders.sjd_block import SjdBlock
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.sjd_vp import SjdVp
from simlab.decoders.skipping import Skipping
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.decoders.triton.block import step_back, weigh
from simlab.decoders.triton.candidates import draw_candidates
from simlab.decoders.triton.draft import draw_draft
from simlab.decoders.triton.noise import blur
from simlab.decoders.triton.rising import rise
from simlab.decoders.triton.supported import unsupported
from simlab.decoders.triton.tape import WORDS
from simlab.decoders.triton.verification import verify_families, walk
from simlab.decoders.triton.window import JOINT, OUTCOME, PLAN, REPORT, begin_windows, commit, redraw
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.rules import Rule

LARGEST_TILE = 64  # blocks that are added up side by side


class FusedState(NamedTuple):
    """The state of a batch. A step changes all but ``rows`` in place."""

    tokens: Tensor  # int64[B, N + W + 1]: committed, then the drafts of the window
    # int64[4, B], all that a host may want to read: the committed length; the drafts accepted and the tokens committed
    # by the last step; and 1 once a row without mass was met, else 0
    report: Tensor
    declared: Tensor  # int64[B, W]: the code of the row each draft was drawn from (rows)
    born: Tensor  # int64[B, N + W + 1]: the iteration in which a position's draft was new, where drafts are noise first
    tape: Tensor  # int64[B, 3]: replicate, next iteration and seed of each sequence
    # float[B, H, V]: rows of the last committed positions, where new drafts are drawn from them, and of drafts, where
    # they are drawn from others than those of a call
    past: Tensor
    rows: Tensor  # float[B, M + 1, V]: those of the last call, or of the draft process

    @property
    def length(self) -> Tensor:
        """``int64[B]``: tokens committed."""
        return self.report[0]


class Fused:
    """A decoder, fused, for one target and a batch of sequences.

    ``decoder``, ``rule``: a pair that :func:`~simlab.decoders.triton.unsupported` has no objection to. ``process``: the
    target, of torch. ``batch``: B, the number of sequences. ``draft``: the draft process, where the decoder needs one;
    rows of the target's type. Raises ``ValueError`` for a decoder or a rule that has no fused form, a process whose
    rows are not torch's, and as :func:`simlab.decoders.run` does.
    """

    def __init__(
        self, decoder: Decoder, process: Process, rule: Rule, batch: int, draft: Process | None = None
    ) -> None:
        check_given(decoder, process, rule, draft)
        reason = unsupported(decoder, rule)
        if reason is not None:
            raise ValueError(reason)
        _check_rows(process, draft)
        self.process, self.draft, self.batch = process, draft, batch
        self._everyone = torch.arange(batch, device=process.uniform.device)
        self._sizes, self._tree = sizes_of(decoder, process), None
        if isinstance(decoder, SjdPd):
            tree = decoder.draft_tree()
            self._tree = tree.paths.beside(process.uniform)
        self._memory = {
            **self._sizes,
            **workspace(self._sizes, batch, process.uniform),
            **tables_of(decoder, process.uniform),
        }

    def start(self, tape: Tape) -> FusedState:
        """The state before the first step: :meth:`simlab.decoders.Decoder.init`.

        ``tape``: seed and replicates of the sequences, B of them.
        """
        state = self.empty()
        self.restart(state, range(self.batch), [tape.seed] * self.batch, tape.replicates.tolist())
        return state

    def empty(self) -> FusedState:
        """Room for the state of B sequences, of which each begins with :meth:`restart`."""
        batch, sizes, like = self.batch, self._sizes, self.process.uniform
        return FusedState(
            _zeros((batch, sizes["WIDTH"]), self._everyone),
            _zeros((REPORT.value, batch), self._everyone),
            _zeros((batch, sizes["W"]), self._everyone),
            _zeros((batch, sizes["WIDTH"] if sizes["LEVELS"] else 0), self._everyone),
            _zeros((batch, WORDS.value), self._everyone),
            like.new_empty(batch, sizes["KEPT"], sizes["V"]),
            like.new_empty(batch, sizes["ROWS"] if self.draft is not None else 0, sizes["V"]),
        )

    def restart(
        self, state: FusedState, sequences: Sequence[int], seeds: Sequence[int], replicates: Sequence[int]
    ) -> None:
        """Begin some ``sequences``, by batch row, anew in ``state``, while the others stay as they are.

        ``seeds``, ``replicates``: what each tape is made of.
        """
        batch = torch.as_tensor(list(sequences), device=self._everyone.device)
        signed = [seed - (1 << 64) if seed >= 1 << 63 else seed for seed in seeds]
        words = [(replicate, 0, seed) for replicate, seed in zip(replicates, signed, strict=True)]
        state.tokens[batch] = 0
        state.report[:, batch] = 0
        state.born[batch] = 0
        state.tape[batch] = torch.as_tensor(words, device=batch.device)
        self._launch(begin_windows, (len(batch),), state, batch)
        self._launch(redraw, (len(batch), self._sizes["DRAWS"]), state, batch)
        self._launch(commit, (len(batch),), state, batch)

    def keep(self, state: FusedState, sequences: Sequence[int]) -> FusedState:
        """Go on with some of the sequences, which the processes are told by themselves.

        ``state``: changed in place; use what is returned. ``sequences``: those that stay, in the order they are to
        have; ``sequences[i] >= i``.
        """
        moved = [(to, row) for to, row in enumerate(sequences) if to != row]
        for values in (state.tokens, state.report.T, state.declared, state.born, state.tape, state.past):
            for to, row in moved:
                values[to] = values[row]
        return state._replace(rows=state.rows[list(sequences)]) if moved and self.draft is None else state

    def step(self, state: FusedState, count: int | None = None) -> FusedState:
        """One call of the target for all sequences; those that are over stay as they are.

        ``state``: changed in place; use what is returned. ``count``: how many there are, the first of the batch; all,
        unless given.
        """
        sizes, everyone = self._sizes, self._everyone[:count]
        tokens, length, count = state.tokens[:count], state.length[:count], len(everyone)
        if self.draft is not None:
            for j in range(sizes["W"]):
                row = self.draft.forward(tokens, length + j, 1).contiguous()
                self._launch(draw_draft, (count,), state, everyone, draft_rows=row, J=j)

        if self._tree is None:
            call = self.process.forward(tokens, length, sizes["W"] + 1)
        else:
            # a process may hold on to what it is given, so that is not written to again
            root, shown = torch.empty_like(everyone), everyone.new_empty(count, sizes["NODES"])
            self._launch(draw_candidates, (count, sizes["GROUPS"]), state, everyone, root=root, shown=shown)
            call = self.process.forward_tree(tokens, root, shown, self._tree)
        call = call.contiguous()
        if sizes["LEVELS"]:
            clean, call = call, torch.empty_like(call)  # a process may hold on to what it gives, too
            grid = count, sizes["W"] + 1, -(-sizes["V"] // BLOCK)
            self._launch(blur, grid, state, everyone, call, clean=clean)

        if self._tree is not None:
            self._launch(verify_families, (count, sizes["FAMILIES"]), state, everyone, call)
        if sizes["BLOCKWISE"]:
            self._launch(weigh, (count, sizes["W"] + 1), state, everyone, call)
        self._launch(step_back if sizes["BLOCKWISE"] else walk, (count,), state, everyone, call)
        if sizes["RISING"]:
            self._launch(rise, (count, sizes["DRAWS"]), state, everyone, call)
        self._launch(redraw, (count, sizes["DRAWS"]), state, everyone, call)
        self._launch(commit, (count,), state, everyone, call)
        return state if self.draft is not None else state._replace(rows=call)

    def _launch(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        state: FusedState,
        batch: Tensor,
        call: Tensor | None = None,
        **more: Any,  # what the kernel is told besides
    ) -> None:
        """Launch a kernel: its arguments are found by their names."""
        known = self._known(state, batch, call, more)
        given = {name: known[name] for name in kernel.arg_names}
        kernel[grid](**given, num_warps=warps_of(kernel), enable_fp_fusion=False)

    def _known(self, state: FusedState, batch: Tensor, call: Tensor | None, more: Mapping[str, Any]) -> dict[str, Any]:
        """All that a kernel may ask for."""
        rows = {"last": state.rows, "call": state.rows if call is None else call}
        return {**self._memory, **state._asdict(), **rows, **more, "length": state.length, "batch": batch}


# What kernels are told --------------------------------------------------------------------------------------------


def warps_of(kernel: Any) -> int:
    """How many warps a program has: more where it reads rows than where it reads tables."""
    return 8 if kernel in (draw_candidates, draw_draft, verify_families, weigh, rise, redraw) else 4


# what a kernel is compiled for beside the window, by the type of the decoder
OWN_SIZES: dict[type, Callable[[Any], dict[str, Any]]] = {
    Skipping: lambda decoder: {"SKIPPED": decoder.skipped},
    SjdBlock: lambda decoder: {"BLOCKWISE": True},
    SjdVp: lambda decoder: {"RISING": decoder.declared},
    Sjd2: lambda decoder: {"LEVELS": decoder.levels, "CLEAN": decoder.levels > 0 and decoder.criterion == "clean"},
    SjdPv: lambda decoder: {
        "PHRASE": decoder.phrase,
        "LEAST": 1 if decoder.phrase == 1 or decoder.failing == "shorten" else decoder.phrase,
    },
}


def sizes_of(decoder: Any, process: Process) -> dict[str, Any]:
    """The numbers that kernels are compiled for."""
    drafts = isinstance(decoder, Sjd)
    window, past = _window(decoder, process), decoder.past_rows(process) if drafts else 0
    # rows of positions that a step has committed may be asked for by this one and the next
    past += 2 * (window.width + 1) if past else 0
    tree = decoder.draft_tree() if isinstance(decoder, SjdPd) else None
    own = OWN_SIZES[type(decoder)](decoder) if type(decoder) in OWN_SIZES else {}
    method, _, source = INITIALS[window.initial].partition("-")
    return {
        "W": window.width,
        "WIDTH": window.end + window.width + 1,
        "SPAN": triton.next_power_of_2(window.width + 1),
        "DRAWS": window.width + 1 if drafts else 1,
        "V": process.vocabulary,
        "TILE": min(LARGEST_TILE, triton.next_power_of_2(-(-process.vocabulary // BLOCK))),
        "END": window.end,
        "COLUMNS": window.columns,
        "METHOD": method,
        "SOURCE": source,
        "BONUS": bool(window.bonus),
        "REFINED": window.refined,
        "POINT_MASS": window.point_mass,
        "CONTINUED": verified_from(decoder) if drafts else window.width + 1,
        "DRAFTS": drafts,
        "PAST": past,
        "KEPT": past + (window.width if "RISING" in own else 0),
        "ROWS": 1 + (window.width if tree is None else tree.nodes),
        "NODES": 0 if tree is None else tree.nodes,
        "CHAIN": triton.next_power_of_2(max(1, window.width)),
        "DEPTH": 0 if tree is None else tree.depth,
        "K": 0 if tree is None else decoder.candidates,
        "FAMILIES": 0 if tree is None else len(tree.families.rows.values),
        "GROUPS": 0 if tree is None else len(tree.families.levels.values),
        **{"SKIPPED": 0, "BLOCKWISE": False, "RISING": "", "LEVELS": 0, "CLEAN": False, "PHRASE": 1, "LEAST": 1},
        **own,
    }


def _window(decoder: Any, process: Process) -> Window:
    if isinstance(decoder, Sjd):
        return window_of(decoder, process)
    width = decoder.gamma if isinstance(decoder, SpeculativeDecoder) else 0
    return Window(width, process.shape[1], process.length)


def tables_of(decoder: Decoder, like: Tensor) -> dict[str, Tensor]:
    """A tree as kernels read it, the uniform row, and numbers in its type; a chain has empty tables.

    A *family* are the children of one row; a *group* the families whose candidates are drawn together.
    """
    names = "levels", "parents", "children", "groups_of", "spans", "family_of"
    tables: dict[str, Any] = {name: [] for name in names}
    if isinstance(decoder, SjdPd):
        families = decoder.draft_tree().families
        group = families.group.values
        tables = {
            "levels": families.levels.values[group],
            "parents": families.rows.values,
            "children": families.nodes.values,
            "groups_of": group,
            "spans": [(part[0], part[-1] + 1) for part in (np.flatnonzero(group == g) for g in np.unique(group))],
            "family_of": families.of_row.values,
        }
    found = {name: torch.as_tensor(np.asarray(table, np.int64), device=like.device) for name, table in tables.items()}
    strength = float(decoder.strength) if isinstance(decoder, SjdVp) else 0.0
    levels = decoder.levels if isinstance(decoder, Sjd2) else 0
    numbers = {
        "strength": like.new_full((1,), strength),
        "shares": torch.arange(levels + 1, device=like.device).to(like.dtype) * (1 / (levels + 1)),
    }
    return {**found, **numbers, "uniform_row": like.contiguous()}


def workspace(sizes: Mapping[str, Any], batch: int, like: Tensor) -> dict[str, Any]:
    """Memory that kernels hand on to each other, and their own: shapes after the batch."""
    window, families = sizes["W"] + 1, max(1, sizes["FAMILIES"])
    programs, blocks = max(window, families), -(-sizes["V"] // BLOCK)
    integers = {
        "nodes": (sizes["NODES"],),
        "taken": (sizes["GROUPS"], sizes["K"]),
        "chosen": (sizes["FAMILIES"],),
        "stages": (sizes["FAMILIES"],),
        "path": (sizes["DEPTH"],),
        "plan": (PLAN.value, window),
        "outcome": (OUTCOME.value,),
        "drawn": (window,),
    }
    numbers = {
        "left": (sizes["GROUPS"], sizes["K"]),
        "scales": (sizes["FAMILIES"], sizes["K"]),
        "sums": (programs, blocks),
        "part": (programs, BLOCK),
        "joint": (JOINT.value, window),
    }
    found = {
        name: torch.zeros(batch, *shape, dtype=kind, device=like.device)
        for kind, shapes in ((torch.int64, integers), (torch.float64, numbers))
        for name, shape in shapes.items()
    }
    return {**found, "B": batch}


def _check_rows(process: Process, draft: Process | None) -> None:
    for name, given in (("process", process), ("draft", draft)):
        if given is not None and not isinstance(given.uniform, Tensor):
            raise ValueError(f"{name} gives rows of {type(given.uniform).__name__}; expected torch tensors")
    if draft is not None and draft.uniform.dtype != process.uniform.dtype:
        raise ValueError(
            f"draft gives rows of {draft.uniform.dtype}; expected the target's type, {process.uniform.dtype}"
        )


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return torch.zeros(shape, dtype=like.dtype, device=like.device)
