"""Fused decoders for CUDA, written in Triton: tokens equal to those of the reference form.

:func:`unsupported` needs neither torch nor Triton; both are loaded with the first use of anything else here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simlab.decoders.triton.supported import unsupported

if TYPE_CHECKING:
    from simlab.decoders.triton.fused import Fused, FusedState
    from simlab.decoders.triton.loop import run

__all__ = ["Fused", "FusedState", "run", "unsupported"]
_PLACES = {"Fused": "fused", "FusedState": "fused", "run": "loop"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(f"simlab.decoders.triton.{_PLACES[name]}"), name)
