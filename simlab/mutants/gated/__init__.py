"""Wrong implementations by design: what is wrong (a fault), where (a gate), and how it is called (a contract).

Verifiers, drafters and decoders are written once, as a reference with places at which faults act. Behind a gate that is
closed each is exactly lossless. Some hundred faults, a hundred gates and all contracts make tens of thousands of wrong
ones; :mod:`simlab.mutants.gated.deviations` says how wrong each is.
"""
