"""The tests: exact laws first, then properties, then parity of the forms of one algorithm, and statistics last.

Property tests try the same examples on every machine, and keep no database of their own.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("simlab", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("simlab")
