"""Certify somebody's verifier: is what it emits the target's law?

>>> from simlab.certify import certify
>>> certificate = certify(verify, contract="verify", budget=60)  # doctest: +SKIP
>>> certificate.verdict  # doctest: +SKIP
'lossless'

:func:`assert_lossless` is for pytest. The contracts are in :data:`CONTRACTS`; how a callable is tried is told in
:mod:`simlab.certify.api`.
"""

from simlab.certify.api import assert_lossless, certify
from simlab.certify.certificate import Certificate, Failure, Line
from simlab.certify.contracts.registry import CONTRACTS, Contract

__all__ = ["CONTRACTS", "Certificate", "Contract", "Failure", "Line", "assert_lossless", "certify"]
