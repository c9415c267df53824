"""Certify a callable: does what it emits follow the target's law?

>>> from simlab.certify import certify
>>> certificate = certify(verify, contract="verify", budget=60)  # doctest: +SKIP
>>> certificate.verdict  # doctest: +SKIP
'lossless'

:func:`assert_lossless` is for pytest. The contracts are in :data:`CONTRACTS`; :mod:`simlab.certify.engine.search` has
the steps.
"""

from simlab.certify.api import certify
from simlab.certify.asserting import assert_lossless
from simlab.certify.certificate import Certificate, Failure, Line
from simlab.certify.registry import CONTRACTS, Contract

__all__ = ["CONTRACTS", "Certificate", "Contract", "Failure", "Line", "assert_lossless", "certify"]
