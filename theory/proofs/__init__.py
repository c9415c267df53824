"""Proofs that claims rest on: for all real rows up to a size, or pointwise and so for every V.

:mod:`theory.proofs.catalogue` lists them, with the claims that each serves and the wrong variants that it has to
refute; :mod:`theory.proofs.kept` keeps what came out, with a hash of the code that was run;
:mod:`theory.proofs.reasons` says of each claim that holds and has no proof of this kind why not. ``python -m
theory.proofs`` makes all of them again.
"""
