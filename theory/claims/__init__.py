"""Claims of the papers, a package for each: statement, assumptions, proof, checks and verdict."""

from theory.claims.base import VERDICTS, Claim, Evidence, Finding, Verdict, combined
from theory.claims.registry import CLAIMS, HEADLINES, PAPERS, TAKE_HOME, find
from theory.failures import CheckFailed

__all__ = [
    "CLAIMS",
    "HEADLINES",
    "PAPERS",
    "TAKE_HOME",
    "VERDICTS",
    "CheckFailed",
    "Claim",
    "Evidence",
    "Finding",
    "Verdict",
    "combined",
    "find",
]
