"""The request of ``simlab certify``: its options, the callable it certifies, the files it writes.

certificate.json  the certificate, "verdict" at its top level, and the command and versions that led to it
certificate.html  the page, drawn from it
reproduce.py      where something small fails, if only at the ends of coins: a program that shows it
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from math import isfinite
from pathlib import Path
from typing import Any

from experiments.certification.effort import Effort
from experiments.judging.load_object import load_object, no_python
from experiments.results import versions, write, write_json
from simlab import __version__
from simlab.certify import CONTRACTS, Certificate
from simlab.certify.adapters import NAMED
from simlab.certify.adapters.checkouts.registry import PUBLISHED, Published, commit_of
from simlab.certify.api import LIMIT
from simlab.certify.engine.workers import check_processes
from simlab.certify.registry import contract_named
from simlab.checks import check_at_least
from simlab.registry import meant

PROCESSES = 2  # that call a function; a command is started once, for one that is started twice may draw the same twice
AGAIN = 30  # seconds that are enough to see a failure again in its shape


@dataclass(frozen=True)
class Request(Effort):
    """The options of the command line; raises ``ValueError`` for a number out of its range."""

    spec: str
    contract: str | None = None
    calls: int | None = None
    processes: int | None = None
    arrays: str | None = None
    shapes: tuple[str, ...] = ()
    at_most: str = ""
    strict: bool = False
    process: bool = False  # whether it is a command line, of a process that answers the protocol
    checkout: Path | None = None  # of the repository that published code is taken from

    def __post_init__(self) -> None:
        self.check()
        check_processes("--processes", self.called_by)
        if self.process and not self.called_by:
            raise ValueError("--processes 0: a command is a process of its own; expected how many are started")
        if self.calls is not None:
            check_at_least("--calls", self.calls, 1)
        if self.process and self.arrays is not None:
            raise ValueError(f"--arrays {self.arrays}: a command gets words of eight bytes, and no other arrays")
        if self.arrays is not None:
            adapter = NAMED.get(self.spec)
            contract_named(self.contract or (adapter.contract if adapter else "verify"), self.arrays)

    @property
    def called_by(self) -> int:
        """How many processes call it: those that were asked for, or the usual number."""
        return self._usually if self.processes is None else self.processes

    @property
    def _usually(self) -> int:
        return 1 if self.process else PROCESSES

    @property
    def _unusual(self) -> dict[str, Any]:
        """The number of processes and the limit, where they are not the usual ones, which a command need not repeat."""
        processes = {} if self.called_by == self._usually else {"processes": self.called_by}
        return processes | ({} if self.limit == LIMIT else {"limit": self.limit})

    @property
    def command(self) -> str:
        """The command that asks for the same, without the usual number of processes and the usual limit."""
        options: dict[str, Any] = {"budget": self.budget} if self.calls is None else {"calls": self.calls}
        options |= {"epsilon": self.epsilon, "confidence": self.confidence, "seed": self.seed} | self._unusual
        words = [word for name, value in options.items() for word in (f"--{name}", str(value).removesuffix(".0"))]
        shapes = [word for shape in self.shapes for word in ("--shape", shape)]
        return shlex.join([*self._what, *shapes, *self._most, *(["--strict"] if self.strict else []), *words])

    def again(self, document: dict[str, Any]) -> str:
        """The command that shows a failure in a drawn shape again, for which there is no program; else empty."""
        failure, shapes = document["failure"], document["shapes"]
        if not failure or failure["script"] or not shapes:
            return ""
        sizes = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", failure["case"])}
        if not set(shapes["axes"]) <= sizes.keys():
            return ""
        dtype = [f"dtype={failure['dtype']}"] if failure["dtype"] else []
        shape = [f"{name}={sizes[name]}" for name in shapes["axes"]] + dtype
        more = [word for name, value in self._unusual.items() for word in (f"--{name}", f"{value:g}")]
        words = ["--shape", ",".join(shape), *self._most, "--budget", f"{AGAIN}", "--seed", f"{self.seed}", *more]
        return shlex.join([*self._what, *words])

    @property
    def _most(self) -> list[str]:
        """The words of a command that say which shapes it takes: what it does beyond them is no failure."""
        return ["--at-most", self.at_most] if self.at_most else []

    @property
    def _what(self) -> list[str]:
        """The first words of a command: what is certified, and how it is called."""
        words = ["simlab", "certify", *(["--command"] if self.process else []), self.spec]
        words += ["--checkout", str(self.checkout)] if self.checkout else []
        words += ["--contract", self.contract] if self.contract else []
        return words + (["--arrays", self.arrays] if self.arrays else [])


@dataclass(frozen=True)
class Subject:
    """What is certified: a callable, its contract, and how a program gets it: ``from module import name``.

    ``then`` is what has to follow that name: an attribute, or a call. ``file`` is the file in ``folder`` that the
    module is, where it was named by that. ``about`` is the description of an adapter,
    ``at_most`` what shapes it takes, and ``published`` what is known of code from a checkout: its repository, commit
    and file.
    """

    function: Any
    contract: str
    module: str
    name: str
    processes: int
    then: str = ""
    folder: Path | None = None
    file: str = ""
    about: str = ""
    at_most: str = ""
    published: Mapping[str, str] = field(default_factory=dict)


def find_subject(request: Request) -> Subject:
    """The callable that the request names; raises ``ValueError`` where there is no such thing."""
    if request.contract is not None:
        contract_named(request.contract)
    if request.process:
        return _process(request)
    if request.checkout is not None and request.spec not in PUBLISHED:
        raise ValueError(
            f"--checkout {request.checkout}: is for published code; {meant(request.spec, PUBLISHED)}"
            f"expected one of {', '.join(PUBLISHED)} instead of {request.spec}"
        )
    return _own(request) if ":" in request.spec else _adapter(request)


def _process(request: Request) -> Subject:
    """A process that answers through its standard input and output."""
    from simlab.certify.processes import command

    contract = request.contract or "verify"
    return Subject(
        function=command(request.spec, contract, seed=request.seed),
        contract=contract,
        module="simlab.certify.processes",
        name="command",
        then=f"({request.spec!r}, {contract!r}, {str(Path.cwd())!r}, {request.seed})",
        processes=request.called_by,
        about="A process, asked by protocol version 1 through its standard input and output.",
    )


def _own(request: Request) -> Subject:
    """A callable of the user's own."""
    where, _, dotted = request.spec.rpartition(":")
    if not dotted:
        raise ValueError(f"{request.spec} names no function; expected module:function or path/to/file.py:function")
    here = Path.cwd()  # before it is imported, which may leave or remove the folder
    path = Path(where).resolve() if where.endswith(".py") else None
    function = load_object(request.spec)
    if isinstance(function, type) or not callable(function):
        kind = "a class" if isinstance(function, type) else repr(function)[:60]
        raise ValueError(f"{request.spec} is {kind}; expected a function, or an object that can be called")
    name, *rest = dotted.split(".")
    return Subject(
        function=function,
        contract=request.contract or "verify",
        module=path.stem if path else where,
        name=name,
        then="".join(f".{part}" for part in rest),
        folder=path.parent if path else here,
        file=path.name if path else "",
        # a device does not survive a fork
        processes=0 if (request.arrays or "").startswith("cuda") else request.called_by,
    )


def _adapter(request: Request) -> Subject:
    """What has a name: an adapter of ``simlab.certify.adapters``, or published code in a checkout."""
    if request.spec.endswith(".py"):
        raise ValueError(f"{request.spec} is a file; expected its function too, such as {request.spec}:verify")
    if request.spec not in NAMED:
        raise ValueError(
            (no_python(request.spec) or f"{request.spec!r} is no adapter")
            + f"; {meant(request.spec, NAMED)}expected module:function, path/to/file.py:function, or one of "
            + ", ".join(NAMED)
        )
    found = NAMED[request.spec]
    if request.contract not in (None, found.contract):
        raise ValueError(
            f"the adapter {found.name} is for the contract {found.contract}; --contract {request.contract}"
        )
    if isinstance(found, Published):
        return _published(found, request)
    try:
        function, version = found.make(), found.version()
    except (ImportError, RuntimeError) as error:
        raise ValueError(f"{found.name} cannot be tried here: {error}") from None
    return Subject(
        function=function,
        contract=found.contract,
        module="simlab.certify.adapters",
        name="adapter",
        then=f"({found.name!r}).make()",
        processes=0 if found.needs_cuda else request.called_by,  # CUDA does not survive a fork
        about=f"{found.about} Of {found.package} {version}.",
        at_most=found.at_most,
    )


def _published(found: Published, request: Request) -> Subject:
    """Published code that is no package, of the checkout that the request names."""
    if request.checkout is None:
        raise ValueError(f"{found.name} is code of {found.repository}; expected --checkout with a checkout of it")
    commit = commit_of(request.checkout)
    try:
        function = found.callable(request.checkout)
    except ImportError as error:
        raise ValueError(f"{found.name} cannot be tried here: {error}") from None
    return Subject(
        function=function,
        contract=found.contract,
        module="simlab.certify.adapters.checkouts.registry",
        name="from_checkout",
        then=f"({found.name!r}, {str(request.checkout.absolute())!r})",
        processes=request.called_by,
        about=found.about,
        published={"repository": found.repository, "commit": commit, "file": found.file},
    )


def certificate_document(request: Request, subject: Subject, certificate: Certificate, out: Path) -> dict[str, Any]:
    """The content of certificate.json, for the folder ``out``."""
    document = finite(certificate.document)
    for failure in (document["failure"], document["edge"]):
        if failure and failure["script"]:
            failure["script"] = standalone_script(failure["script"], subject, out)
    return document | {
        "again": request.again(document),
        "signature": CONTRACTS[subject.contract].signature,
        "about": subject.about,
        "budget": request.budget if request.calls is None else None,
        "calls_of_each": request.calls,
        "command": request.command,
        "simlab": __version__,
        "versions": versions(),
        **subject.published,
    }


def finite(value: Any) -> Any:
    """``value`` with ``None`` for infinite numbers, which JSON has not: what no number of calls shows."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def standalone_script(script: str, subject: Subject, out: Path) -> str:
    """The script of a failure as a program in the folder ``out``, which can be started from any folder."""
    start = f"from {re.escape(subject.module)} import {re.escape(subject.name)}( as (\\w+))?\n"
    found = re.search(start, script)
    assert found is not None, "every script begins with the import of what it calls"
    name = found[2] or subject.name
    called = _imported(name, subject) if _needs_more(subject) else found[0]
    line = called + (f"\n{name} = {name}{subject.then}\n" if subject.then else "")
    if subject.folder is None:
        return script.replace(found[0], line)
    away = Path(os.path.relpath(subject.folder, out)).as_posix()
    put = "append(" if _of_its_path(subject) else "insert(0, "  # NumPy may import a module of its name yet
    where = f"sys.path.{put}str(Path(__file__).resolve().parent / {away!r}))"
    comment = f"# where {subject.module} is looked for"
    return "import sys\nfrom pathlib import Path\n\n" + script.replace(found[0], f"\n{where}  {comment}\n{line}")


def _needs_more(subject: Subject) -> bool:
    """Whether a program cannot write ``from module import name``."""
    parts = subject.module.split(".")
    return not all(map(str.isidentifier, parts)) or any(map(iskeyword, parts)) or _of_its_path(subject)


def _of_its_path(subject: Subject) -> bool:
    """Whether a file has to be run by its path: as a module its name is another one, as random.py, or has a package."""
    return bool(subject.file) and (subject.module in sys.stdlib_module_names or "." in subject.module)


def _imported(name: str, subject: Subject) -> str:
    """How a program gets what is in a file, or a module, whose name it cannot import, as my-verifier.py."""
    if _of_its_path(subject):
        run = f"run_path(str(Path(sys.path[-1]) / {subject.file!r}))[{subject.name!r}]"
        return f"from runpy import run_path\n\n{name} = {run}\n"
    return f"from importlib import import_module\n\n{name} = import_module({subject.module!r}).{subject.name}\n"


def program(document: dict[str, Any]) -> str:
    """The program that shows the failure, or else what is only at the ends of coins; empty where there is none."""
    shown = document["failure"] or document.get("edge")
    return (shown and shown["script"]) or ""


def save_certificate(document: dict[str, Any], out: Path, copy: Path | None) -> None:
    """Write the files; those of an earlier certificate go first, so that none is left beside this one."""
    for name in ("certificate.html", "reproduce.py"):
        (out / name).unlink(missing_ok=True)
    script = program(document)
    if script:
        write(out / "reproduce.py", lambda temporary: temporary.write_text(script, encoding="utf-8"))
    write_json(out / "certificate.json", document)
    if copy:
        write_json(copy, document)
