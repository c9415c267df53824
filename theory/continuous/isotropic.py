"""Acceptance in any dimension, where every covariance is a multiple of the identity, in closed form.

The acceptance given the gap g between the means of the last kernels is 1 - TV = 2 Phi(-|g| / 2 s), so only |g| matters,
and |g|^2 / v is a noncentral chi-square with d degrees of freedom.
"""

from __future__ import annotations

from math import isnan, log, sqrt

import scipy

from theory.continuous.gaussian_overlap import two_phi


def isotropic_acceptance(dimension: int, distance: float, variance: float, sd: float) -> float:
    """The acceptance of the last step's ratio for kernels of variance sd^2 and a gap of law N(m, variance I).

    ``distance``: |m|. ``variance``, ``sd``: in each of the ``dimension`` dimensions.

    With Z standard normal, 2 Phi(-|g| / 2 sd) = P(|g|^2 < 4 sd^2 Z^2 given g), so in the mean over g it is P(F < 4 sd^2
    / (variance d)) for F = (|g|^2 / variance / d) / Z^2: a noncentral F law with d and 1 degrees of freedom and
    noncentrality |m|^2 / variance.
    """
    if variance * dimension <= 1e-6 * distance**2 or variance <= 0:  # all but a point, and too much for the F law
        return float(two_phi(sqrt(distance**2 + max(variance, 0) * dimension), sd))
    return float(scipy.stats.ncf.cdf(4 * sd**2 / (variance * dimension), dimension, 1, distance**2 / variance))


def overlap(dimension: int, distance: float, sd: float, other_sd: float) -> float:
    """int min(p, q) of two isotropic normal laws: the acceptance that no lossless rule exceeds.

    ``distance``: between the means. ``sd``, ``other_sd``: standard deviations in each dimension, above 0. The densities
    cross on a sphere, in which the narrower one is larger; both masses of a ball are those of noncentral chi-squares.
    """
    if abs(sd - other_sd) < 1e-6 * sd:  # the sphere is all but a plane
        return float(two_phi(distance, (sd + other_sd) / 2))
    narrow, wide = sorted((sd, other_sd))
    # log narrow - log wide = (r^2 - |x - c|^2) (narrow^-2 - wide^-2) / 2, with the narrow law around 0 and the wide one
    # around m: c = -m narrow^2 / (wide^2 - narrow^2)
    apart = wide**2 - narrow**2
    centre = distance * narrow**2 / apart  # its distance from the narrow mean
    square = narrow**2 * wide**2 / apart * (2 * dimension * log(wide / narrow) + distance**2 / apart)
    radius = sqrt(square)
    inside_narrow = _ball(dimension, radius, centre, narrow)
    inside_wide = _ball(dimension, radius, centre + distance, wide)
    return 1 - inside_narrow + inside_wide


def _ball(dimension: int, radius: float, away: float, sd: float) -> float:
    """The mass that N(0, sd^2 I) has in a ball whose centre is ``away`` from 0."""
    found = float(scipy.stats.ncx2.cdf((radius / sd) ** 2, dimension, (away / sd) ** 2))
    if not isnan(found):
        return found
    # too far for SciPy, which is where the sphere is all but a plane
    square = away**2 + (dimension - 1) * sd**2
    return float(scipy.special.ndtr((radius**2 - square) / ((radius + sqrt(square)) * sd)))
