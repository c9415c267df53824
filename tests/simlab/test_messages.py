"""What code of somebody else says and returns, in a line: as soon told where it is long as where it is short."""

from __future__ import annotations

import pytest

from simlab.messages import SHOWN, shown

pytestmark = pytest.mark.cli


class Counted(str):
    """A text that no one may write out as a whole."""

    def __repr__(self) -> str:
        raise AssertionError("all of it is written out")

    def split(self, *_: object) -> list[str]:  # type: ignore[override]
        raise AssertionError("all of it is split")


@pytest.mark.parametrize("value", [Counted("x y " * 1000), [0.5] * 10_000, b"\0" * 10_000, tuple(range(1000))])
def test_of_a_long_value_only_the_beginning_is_written_out(value: object) -> None:
    told = shown(value)
    assert len(told) == SHOWN
    assert told.endswith("...")


def test_short_values_are_told_as_they_are() -> None:
    assert [shown(value) for value in ("a b", [1, 2], float("nan"), None)] == ["'a b'", "[1, 2]", "NaN", "None"]
