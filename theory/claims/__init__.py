"""Claims of the papers, a package for each: statement, assumptions, proof, checks and verdict."""

from theory.claims.base import VERDICTS, CheckFailed, Claim, Evidence, Finding, Verdict, combined
from theory.claims.registry import CLAIMS, PAPERS, find

__all__ = ["CLAIMS", "PAPERS", "VERDICTS", "CheckFailed", "Claim", "Evidence", "Finding", "Verdict", "combined", "find"]
