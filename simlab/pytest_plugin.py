"""For pytest: the fixture ``assert_lossless``, its options, and a table of certificates at the end of a run.

>>> def test_verify_is_lossless(assert_lossless):  # doctest: +SKIP
...     assert_lossless(verify, "chain_uniforms", arrays="torch")

What certifies is imported when a test asks for the fixture: a run without such tests is not slower for it.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from simlab.certify import Certificate

BUDGET = 20.0  # seconds of a certificate, unless a test or the command line says otherwise
MADE = pytest.StashKey[list[tuple[str, str]]]()  # tests and what their certificates say


def seconds(text: str) -> float:
    """A time above 0, of the command line."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"{text!r}; expected seconds above 0")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--certify-budget``, and which shapes are tried."""
    group = parser.getgroup("simlab", "certificates of verifiers")
    group.addoption(
        "--certify-budget",
        type=seconds,
        metavar="S",
        help=f"seconds of each certificate, whatever the tests say (default: theirs, or {BUDGET:g})",
    )
    group.addoption(
        "--certify-shape",
        action="append",
        default=[],
        metavar="TEXT",
        help="a shape that each certificate tries beside those of its test, as V=151936,gamma=7, or the name of a "
        "preset; several times",
    )
    group.addoption(
        "--certify-at-most",
        metavar="TEXT",
        help="the largest shapes that are tried, as V=65536,gamma=16, whatever the tests say",
    )
    group.addoption(
        "--certify-strict",
        action="store_true",
        help="fail for what shows only where a coin is 0 or the largest float below 1",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin an empty table."""
    config.stash[MADE] = []


@pytest.fixture
def assert_lossless(request: pytest.FixtureRequest) -> Callable[..., Certificate]:
    """:func:`simlab.certify.assert_lossless` with the budget and the shapes of the command line."""
    from simlab.certify import assert_lossless as certified

    wanted = request.config.getoption("--certify-budget")
    shapes = tuple(request.config.getoption("--certify-shape"))
    at_most, strict = request.config.getoption("--certify-at-most"), request.config.getoption("--certify-strict")

    def check(function: Callable[..., Any], contract: str = "verify", **options: Any) -> Certificate:
        if wanted is not None:
            options = {name: value for name, value in options.items() if name != "calls"} | {"budget": wanted}
        elif "calls" not in options:
            options = {"budget": BUDGET} | options
        options |= {"shapes": (*options.get("shapes", ()), *shapes)} if shapes else {}
        options |= {"at_most": at_most} if at_most is not None else {}
        options |= {"strict": True} if strict else {}
        try:
            certificate = certified(function, contract, **options)
        except AssertionError as error:
            note(str(error).partition("\n")[0])
            raise
        note(f"{certificate.subject} is {certificate.verdict}: {certificate.summary}")
        return certificate

    def note(told: str) -> None:
        request.node.user_properties.append(("simlab", told))  # which --junitxml writes
        request.config.stash[MADE].append((request.node.nodeid, told))

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was certified, and what that is worth."""
    if config.stash[MADE]:
        terminalreporter.section("certificates")
        for test, told in config.stash[MADE]:
            terminalreporter.write_line(f"{test}: {told}")
