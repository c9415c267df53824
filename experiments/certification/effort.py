"""How long a certificate is tried for, and how sure it has to be: the same of functions, processes and servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from experiments.options import option, seed_option

LEAST = 0.01  # seconds of a budget or a limit


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Options of a command, and what a request inherits."""

    section: ClassVar[str] = "How long and how sure"
    budget: Annotated[float, option("seconds; a fault ends it earlier", "S")] = 60.0
    epsilon: Annotated[float, option("TV that must be ruled out", "E")] = 0.03
    confidence: Annotated[float, option("of the bound on TV", "C")] = 0.999
    seed: Annotated[int, seed_option("of the random calls")] = 0
    limit: Annotated[float, option("seconds until a call counts as hung", "S")] = 10.0

    @property
    def effort(self) -> dict[str, Any]:
        """These options by their names, as :func:`simlab.certify.certify` has them."""
        return {name: getattr(self, name) for name in ("budget", "epsilon", "confidence", "seed", "limit")}

    def check(self) -> None:
        """Raise ``ValueError`` for a number out of its range."""
        from simlab.checks import check_number  # the help of a command needs none of it
        from simlab.statistics.power import check_share

        check_number("--budget", self.budget, LEAST)
        check_number("--limit", self.limit, LEAST)
        check_share("--epsilon", self.epsilon)
        check_share("--confidence", self.confidence)
