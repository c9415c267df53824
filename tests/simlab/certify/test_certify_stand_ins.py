"""Adapters of packages that are not installed here, on stand-ins for them: what is right follows the target exactly.

A stand-in has the package's names, arguments and shapes. A wrong one is found, so that an adapter which never called
it, or changed what comes out, would be as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simlab.arrays import Array
from simlab.certify.adapters import ADAPTERS, Adapter, cuda
from simlab.certify.battery import verifying
from simlab.certify.contracts.scripted import Scripted
from simlab.certify.engine import exact
from tests.support.adapters import ROW, SINGLE, constant, first_token
from tests.support.certify import tv_of

pytestmark = pytest.mark.exact

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.support import stand_ins  # noqa: E402

VERIFIERS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "vllm": (stand_ins.vllm, lambda: cuda.vllm("cpu")),
    "flashinfer": (stand_ins.flashinfer, lambda: cuda.flashinfer("cpu")),
    "rotalabs-accel": (stand_ins.rotalabs, ADAPTERS["rotalabs-accel"].make),
    "rotalabs-accel-rejection": (stand_ins.rotalabs, ADAPTERS["rotalabs-accel-rejection"].make),
}
LOOPS = {
    "rotalabs-accel-decode": (stand_ins.rotalabs, 2),
    "sequential-speculative-decoding": (stand_ins.sequential, 3),
    "sequential-speculative-decoding-naive-hsd": (stand_ins.sequential, 3),
    "sequential-speculative-decoding-capped-hsd": (stand_ins.sequential, 3),
    "mini-infer": (stand_ins.mini_infer, 3),
}
CASES = {case.name: case for case in verifying.cases()}
SHORT = ("one draft, two tokens", "p and q exchanged, two drafts")


@pytest.fixture(autouse=True)
def _without_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adapter, "version", lambda adapter: "stand-in")


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("name", VERIFIERS)
def test_a_verifier_follows_the_target_unless_what_is_called_does_not(
    name: str, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree that is wrong for a tenth of all coins is missed by the 200 that it is tried on with 1e-9.

    A wrong residual shows with one draft as well.
    """
    package, make = VERIFIERS[name]
    stand_ins.install(monkeypatch, package(wrong))
    monkeypatch.setattr(exact, "TRIED", 200)
    verify = make()
    for case in (CASES[short] for short in SHORT[: 1 if wrong else 2]):
        off = tv_of(case, verify)
        assert (off > 0.01) if wrong else (off < SINGLE)


def loop(name: str, wrong: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, int]:
    """A loop, and how many tokens it drafts in a step."""
    package, gamma = LOOPS[name]
    stand_ins.install(monkeypatch, package(wrong))
    return ADAPTERS[name].make(), gamma


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_follows_the_target_unless_its_step_does_not(
    name: str, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """q = (.46, .54); token 1 is kept with .3 / .54 = 5 / 9. A residual from p is token 1 with .3, and not 0 surely."""
    decode, gamma = loop(name, wrong, monkeypatch)
    later = [None] * (gamma - 1)
    law = first_token(lambda rng: decode(constant, 1, rng), 0.46, *later, 5 / 9, 0.7, *later)
    kept = 0.46 + 0.54 * 4 / 9 * 0.7
    np.testing.assert_allclose(law, [kept, 1 - kept] if wrong else ROW)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_ends_with_the_token_that_ends_it_or_at_its_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row and draft go on from what was committed: after a token comes mostly the other one."""
    decode, gamma = loop(name, False, monkeypatch)

    def turning(prefix: tuple[int, ...]) -> Array:
        seen.add(prefix)
        return np.array([0.2, 0.8] if prefix and prefix[-1] == 0 else [0.8, 0.2])

    seen: set[tuple[int, ...]] = set()
    low = Scripted((), beyond=0.0)  # the first token of each row, and every draft kept
    assert decode(turning, 2 * gamma + 3, low) == [0] * (2 * gamma + 3)
    assert max(map(len, seen)) >= 2 * gamma
    assert decode(turning, 5, Scripted((), beyond=0.0), eos=0) == [0]
    assert decode(turning, 1, Scripted((), beyond=0.0)) == [0]
