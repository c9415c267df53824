"""For pytest: the fixture ``assert_lossless``, its options, and a table of certificates at the end of a run.

>>> def test_verify_is_lossless(assert_lossless):  # doctest: +SKIP
...     assert_lossless(verify, "chain_uniforms", arrays="torch")

``pytest --simlab-certify engine.chain:verify@chain_uniforms@torch`` is the same without a file.

What certifies is imported when a test asks for the fixture: a run without such tests is not slower for it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
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
    """Add what is certified without a test of its own, ``--certify-budget``, and which shapes are tried."""
    group = parser.getgroup("simlab", "certificates of verifiers")
    group.addoption(
        "--simlab-certify",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION[@CONTRACT[@ARRAYS]]",
        help="certify this function, as one more test; several times",
    )
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
    return checking(request.node)


class Certified(pytest.Item):
    """A test of the command line: its name is what is certified, its contract and its arrays."""

    def runtest(self) -> None:
        where, *more = self.name.split("@")
        if len(more) > 2:
            raise pytest.UsageError(f"--simlab-certify {self.name}: expected MODULE:FUNCTION[@CONTRACT[@ARRAYS]]")
        module, _, function = where.partition(":")
        sys.path.insert(0, str(self.config.invocation_params.dir))
        try:
            found: Any = attrgetter(function)(import_module(module))
        except (Exception, SystemExit) as error:
            told = f"{type(error).__name__}: {error}"
            raise pytest.UsageError(f"--simlab-certify {self.name}: {told}; expected module:function") from None
        checking(self)(found, *more[:1], **({"arrays": more[1]} if len(more) > 1 else {}))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, None, str]:
        return "--simlab-certify", None, self.name


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add what the command line asks for."""
    items += [Certified.from_parent(session, name=name) for name in config.getoption("--simlab-certify")]


def checking(node: pytest.Item) -> Callable[..., Certificate]:
    """What a test calls: it notes what was found where the test is."""
    from simlab.certify import assert_lossless as certified

    config = node.config
    wanted, shapes = config.getoption("--certify-budget"), tuple(config.getoption("--certify-shape"))
    at_most, strict = config.getoption("--certify-at-most"), config.getoption("--certify-strict")

    def check(function: Callable[..., Any], contract: str = "verify", **options: Any) -> Certificate:
        if wanted is not None:
            options = {name: value for name, value in options.items() if name != "calls"} | {"budget": wanted}
        elif "calls" not in options:
            options = {"budget": BUDGET} | options
        own = options.get("shapes", ())
        options |= {"shapes": (*own, *shapes)} if shapes and not isinstance(own, str) else {}  # a text is refused
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
        node.user_properties.append(("simlab", told))  # which --junitxml writes
        config.stash[MADE].append((node.nodeid, told))

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was certified, and what that is worth."""
    if config.stash[MADE]:
        terminalreporter.section("certificates")
        for test, told in config.stash[MADE]:
            terminalreporter.write_line(f"{test}: {told}")
