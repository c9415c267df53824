"""What a long command has found so far, line by line, so that one that was interrupted or killed goes on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.interrupts import WRITTEN


class Journal:
    """JSON lines at ``path``; the first says what was asked for, ``same``, and the others what was found.

    Raises ``ValueError`` where the file is of a command that asked for something else.
    """

    def __init__(self, path: Path, same: dict[str, Any]) -> None:
        self.path, self.same = path, same
        self.earlier = self._read()

    def _read(self) -> list[Any]:
        if not self.path.exists():
            return []
        whole = [line for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True) if line[-1] == "\n"]
        if not whole:  # killed while the first line was written
            self.path.unlink()
            return []
        try:
            first, *found = map(json.loads, whole)
        except ValueError:
            first, found = None, []
        if first != self.same:
            raise ValueError(
                f"{self.path} holds what was found when a command that asked otherwise was interrupted; "
                "remove it, or give another --out"
            )
        self.path.write_text("".join(whole), encoding="utf-8")  # without a line that was cut off
        return found

    def add(self, found: Any) -> None:
        """Keep one more."""
        begun = self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in ([found] if begun else [self.same, found]))
        if self.path not in WRITTEN:  # an interrupt tells of it
            WRITTEN.append(self.path)

    def close(self) -> None:
        """What was asked for is there: nothing has to be gone on from."""
        self.path.unlink(missing_ok=True)
