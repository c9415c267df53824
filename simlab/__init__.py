"""The instruments: rules, decoders, processes and randomness.

Five nouns carry everything. A *process* says where the pmfs p and q come from, a *rule* says which draft
is accepted and what replaces a rejected one, a *decoder* is the loop around them, *randomness* is the only
source of chance a decoder sees, and a *claim* (in :mod:`theory`) is a statement that is decided with them.
"""

from importlib.metadata import version
from pathlib import Path

from simlab.kernel_cache import drop_stale_kernels

__version__ = version("simlab")

drop_stale_kernels(Path(__file__).parent)
