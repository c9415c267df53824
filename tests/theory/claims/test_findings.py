"""How claims are decided, read from their source: a control runs the claim's own check, and no finding is a constant.

Every module that decides claims is parsed. That a claim about printed numbers is decided otherwise on other numbers,
its own control requires, which tests/theory/claims/test_published.py sees.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import theory.claims
from theory.claims import VERDICTS

pytestmark = pytest.mark.exact

HERE = Path(theory.claims.__file__).parent
MODULES = sorted(str(path.relative_to(HERE)) for path in HERE.glob("*/*.py") if path.name != "__init__.py")
CONDITIONED = {"holds_if", "not_refuted_if", "refuted_if"}
REQUIRES = {"require", "require_found"}
PLAIN = {"max", "min", "abs", "sum", "first", "float", "int", "len", "bool", "all", "any", "zip", "tv", "fmt", "range"}

Function = ast.FunctionDef | ast.Module


@cache
def parsed(name: str) -> ast.Module:
    return ast.parse((HERE / name).read_text(encoding="utf-8"))


def called(node: ast.AST) -> str:
    """The name of what a call calls; empty for everything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def functions(tree: ast.Module) -> Iterator[Function]:
    """The functions of a module that are not inside others, and the module itself without them."""
    yield from (node for node in tree.body if isinstance(node, ast.FunctionDef))
    yield ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef)], [])


def used(node: ast.AST) -> Counter[str]:
    """The names that are read in ``node``, and how often."""
    return Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


# Controls ------------------------------------------------------------------------------------------------------


def handed(function: Function, call: ast.Call) -> list[ast.AST]:
    """What ``rejects_mutants`` runs: its check, and where that only calls its controls, the controls."""
    given = {keyword.arg: keyword.value for keyword in call.keywords} | dict(
        zip(("controls", "differs"), call.args, strict=False)
    )
    check, controls = given["differs"], given["controls"]
    if isinstance(check, ast.Lambda) and called(check.body) in {argument.arg for argument in check.args.args}:
        assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
        names = [n for n in assigned if isinstance(controls, ast.Name) and controls.id in {t.id for t in targets(n)}]
        return [check, *(names or [controls])]
    return [check]


def targets(node: ast.Assign) -> Iterator[ast.Name]:
    return (name for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name))


def of_its_own(function: Function, call: ast.Call, everywhere: Counter[str]) -> bool:
    """Whether a check runs nothing that runs outside the call: then only its controls are put to it."""
    within: Counter[str] = Counter()
    for node in handed(function, call):
        within += used(node)
    bound = {node.arg for top in handed(function, call) for node in ast.walk(top) if isinstance(node, ast.arg)}
    names = set(within) - PLAIN - bound
    for definition in ast.walk(function):
        own = isinstance(definition, ast.FunctionDef) and definition is not function and definition.name in names
        if (
            own and everywhere[definition.name] == within[definition.name]
        ):  # for the controls alone: what it runs counts
            names |= set(used(definition)) - PLAIN
    return not any(everywhere[name] > within[name] for name in names)


def faults(name: str) -> list[str]:
    """What is wrong with the controls of a module."""
    tree = parsed(name)
    found, everywhere = [], used(tree)
    for function in functions(tree):
        inside = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        if any(called(node) == "control" for node in inside) and not any(called(n) in REQUIRES for n in inside):
            found.append(f"{where(name, function)} writes a control and requires nothing")
        for node in inside:
            if called(node) == "rejects_mutants" and of_its_own(function, node, everywhere):
                found.append(f"{where(name, node)} rejects mutants by a check that runs on nothing else")
    return found


def where(name: str, node: ast.AST) -> str:
    return f"{name}:{getattr(node, 'lineno', 1)}"


@pytest.mark.parametrize("name", MODULES)
def test_controls_are_put_to_the_claims_own_check(name: str) -> None:
    assert faults(name) == []


# Constants -----------------------------------------------------------------------------------------------------


def constants(name: str) -> list[str]:
    """Findings of a module whose verdict does not depend on what is computed."""
    found = []
    for function in functions(parsed(name)):
        written = Counter(
            node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and node.value in VERDICTS
        )
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            first = node.args[0]
            if called(node) in CONDITIONED and isinstance(first, ast.Constant):
                found.append(f"{where(name, node)} decides on a constant")
            # One verdict that is written out is one of several between which the function decides.
            if called(node) == "Finding" and isinstance(first, ast.Constant):
                other = any(verdict != first.value for verdict in written) or CONDITIONED & {
                    called(n) for n in ast.walk(function)
                }
                if not other:
                    found.append(f"{where(name, node)} is {first.value} whatever is computed")
    return found


@pytest.mark.parametrize("name", MODULES)
def test_no_verdict_is_a_constant(name: str) -> None:
    assert constants(name) == []


def test_the_lint_sees_what_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bad functions, each beside a good one."""
    good = """
def decide(seed):
    def off(rule):
        return deviation(rule)
    require(off(1) == 0, "why")
    return holds_if(off(rule) == 0, control("seen"), rejects_mutants({"bug": 1}, off, "it"))
"""
    bad = {
        "puts only controls to it": good.replace("off, ", "other, "),
        "a lambda of its own": good.replace("off, ", "lambda rule: other(rule), "),
        "requires nothing": good.replace("require(", "print("),
    }
    trees = {"good": good, **bad, "constant": "def decide(seed):\n    return holds_if(True, evidence)\n"}
    trees["one verdict"] = 'def decide(seed):\n    return Finding("refuted", evidence)\n'
    trees["two"] = 'def decide(seed):\n    return Finding("refuted" if worse else "holds", evidence)\n'
    monkeypatch.setitem(globals(), "parsed", lambda name: ast.parse(trees[name]))
    assert {name: len(faults(name)) for name in ("good", *bad)} == {"good": 0, **dict.fromkeys(bad, 1)}
    assert [len(constants(name)) for name in ("good", "constant", "one verdict", "two")] == [0, 1, 1, 0]
