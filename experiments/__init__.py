"""The experiments floor: the command line, verification of claims, measurements, sweeps, training."""
