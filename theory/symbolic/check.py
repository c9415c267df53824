"""Check proofs with two solvers: every question in the files has to be answered with unsat.

    pip install cvc5 z3-solver
    python check.py [FOLDER or FILE ...]

Imports nothing of the program that wrote the files. A solver that is not installed is not asked. Exits with 1 if an
answer is another, and with 2 if a solver could not tell in time, and none says otherwise.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path


def cvc5_answers(text: str, limit: int) -> Iterator[str]:
    import cvc5

    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("incremental", "true")
    solver.setOption("tlimit-per", str(limit))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "proof")
    symbols = parser.getSymbolManager()
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return
        answer = command.invoke(solver, symbols).strip()
        if str(command).strip() == "(check-sat)":
            yield answer


def z3_answers(text: str, limit: int) -> Iterator[str]:
    import z3

    head, *questions = text.split("(push 1)\n")
    for question in questions:
        solver = z3.SolverFor("QF_NRA")
        solver.set("timeout", limit)
        solver.from_string(head + question.split("(check-sat)")[0])
        yield str(solver.check())


SOLVERS = {"cvc5": cvc5_answers, "z3": z3_answers}
PACKAGES = {"cvc5": "cvc5", "z3": "z3-solver"}


def watched(answers: Iterator[str], file: Path, name: str, expected: int) -> Iterator[str]:
    """The same answers; in a terminal a line says which question is asked."""
    for k in range(1, expected + 2):
        if sys.stderr.isatty():
            print(f"\r\033[K{file.name}: {name}, question {min(k, expected)} of {expected}", end="", file=sys.stderr)
        answer = next(answers, None)
        if answer is None:
            break
        yield answer
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, default=[Path(__file__).parent])
    parser.add_argument("--solver", choices=[*SOLVERS], action="append", help="one of the two; both by default")
    parser.add_argument("--limit", type=int, default=20_000, help="milliseconds for a question")
    options = parser.parse_args()
    files = sorted(f for path in options.paths for f in ([path] if path.is_file() else path.rglob("*.smt2")))
    if not files:
        print("no .smt2 files were found")
        return 1
    wanted = options.solver or list(SOLVERS)
    there = [name for name in wanted if find_spec(name)]
    for name in wanted:
        if name not in there:
            print(f"{name} is not installed, and is not asked: pip install {PACKAGES[name]}")
    if not there:
        return 1
    asked, wrong, untold, begin = 0, [], [], time.time()
    for file in files:
        text = file.read_text()
        expected = text.count("(check-sat)")
        answers = {name: list(watched(SOLVERS[name](text, options.limit), file, name, expected)) for name in there}
        for name, found in answers.items():
            if len(found) != expected:
                wrong.append(f"{file}: {name} answered {len(found)} of {expected} questions")
            for k, answer in enumerate(found):
                if answer != "unsat":
                    told = untold if answer.startswith("unknown") else wrong
                    told.append(f"{file}: question {k + 1}: {name} says {answer}")
        asked += expected
    for line in (wrong + untold)[:20]:
        print(line)
    several = f"{len(wrong)} not unsat, {len(untold)} not told in time"
    print(f"{asked} questions in {len(files)} files, {several}, {time.time() - begin:.0f} s")
    return 1 if wrong else 2 if untold else 0


if __name__ == "__main__":
    sys.exit(main())
