"""What is said of the first step, and what a command does not load before it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from numba import njit

from experiments.cli.compiling import BEGUN, compiling
from experiments.cli.generate import first_step

pytestmark = pytest.mark.cli


def test_kernels_that_are_compiled_are_told_apart_from_others() -> None:
    @njit
    def inner(x: float) -> float:
        return x + 1

    @njit
    def outer(x: float) -> float:
        return inner(x) * 2  # type: ignore[no-any-return]

    told = []
    with compiling() as compiled:
        compiled.tell = lambda: told.append(True)
        assert outer(1.0) == 4.0
    first = compiled.seconds
    assert first > 0
    assert told == [True]
    with compiling() as compiled:
        assert outer(2.0) == 6.0
    assert compiled.seconds == 0


def test_the_first_step_is_told() -> None:
    times = [BEGUN + 2.5, BEGUN + 9.0]
    assert first_step(times, 0.0) == "first step 2.5 s after the command"
    late = first_step(times, 1.24)
    assert late == "first step 2.5 s after the command, 1.2 s of them to compile kernels, which are kept"
    assert first_step([], 0.0) == "first step: the device does not say"


@pytest.mark.slow
def test_what_a_model_does_not_need_is_not_loaded() -> None:
    """Each of these takes a second or more before the first step."""
    program = (
        "import sys\nfrom experiments.models import choice, session\n"
        "from experiments.models.methods import make_method\n"
        "models = session.Models(); models.target, models.tokenizer, make_method('sjd-ac', models.codebook)\n"
        "print([name for name in ('torch._dynamo', 'pandas', 'pydantic', 'simlab.certify') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
