"""Tests whose error rates are known, and what they can see.

Every test is made from what is known beforehand, and answers four questions in the same words:

    test.p_value(data)                         how surprising the data are if nothing is wrong
    test.power(n, level, deviation)            how surely n observations raise an alarm at any such deviation
    test.detectable(n, level, power)           the smallest deviation that surely raises one: what a pass is worth
    test.sample_size(deviation, level, power)  how many observations a wanted deviation takes

``test.stated(n, level)`` is the one line that stands beside a result: n, the false-alarm rate and the detectable
deviation. A law is a mapping from outcomes to probabilities, or a row ``[V]``; counts are a mapping from outcomes to
whole numbers (:func:`tally` makes one), or an array ``[..., V]``. What a law excludes is never forgiven: its p-value is
0. Errors are ``ValueError``.

============================  ==============================================  ========================================
test                          of what, against what                           false-alarm rate
============================  ==============================================  ========================================
``GTest(law)``                counts, anything; rare outcomes are pooled      within 10 % of a level down to 1e-6
``ExactG(law)``               few counts, anything                            never above the level
``Directed(law, towards)``    counts, one named law                           never above, and nearly at, the level
``Sequential(law)``           batches of counts, anything; stops at any time  never above the level, at all times
``TwoSampleG(cells)``         counts twice, laws unknown                      within 10 % of a level down to 1e-6
``PermutationTest(kernel)``   points twice, laws unknown                      exact for levels j/(permutations + 1)
``ConcentrationTest(kernel)`` the same, at extreme levels                     never above, and far below, the level
``ProportionTest(rate)``      successes among n                               never above the level
``MeanTest(mean, ...)``       bounded numbers                                 never above, and far below, the level
============================  ==============================================  ========================================

Kernels of points are ``Energy``, ``EnergyOnLine`` and ``Gaussian`` (MMD). After a pass, :func:`tv_upper` says how far
the true law can still be, and ``Sequential.tv_upper`` says it at all times. Intervals are :func:`proportion_interval`
and :func:`mean_interval`, guaranteed, and those of :func:`estimate` and :func:`paired`, Student's. Several tests are
judged together by :func:`holm`.
"""

from simlab.statistics.cells import LEAST, Cells
from simlab.statistics.concentration import ConcentrationTest
from simlab.statistics.goodness import GTest
from simlab.statistics.kernels import Energy, EnergyOnLine, Gaussian, Kernel, median_distance
from simlab.statistics.laws import Law, tally
from simlab.statistics.likelihood_ratio import Directed
from simlab.statistics.means import Estimate, MeanTest, estimate, mean_interval, paired
from simlab.statistics.multinomial import ExactG
from simlab.statistics.multiplicity import holm
from simlab.statistics.permutation import PermutationTest
from simlab.statistics.power import POWER, Planned, Stated
from simlab.statistics.proportions import ProportionTest, proportion_interval
from simlab.statistics.sequential import Sequential
from simlab.statistics.tv_bounds import tv_radius, tv_sample_size, tv_upper, tv_upper_always, weissman
from simlab.statistics.two_sample import TwoSampleG

__all__ = [
    "LEAST",
    "POWER",
    "Cells",
    "ConcentrationTest",
    "Directed",
    "Energy",
    "EnergyOnLine",
    "Estimate",
    "ExactG",
    "GTest",
    "Gaussian",
    "Kernel",
    "Law",
    "MeanTest",
    "PermutationTest",
    "Planned",
    "ProportionTest",
    "Sequential",
    "Stated",
    "TwoSampleG",
    "estimate",
    "holm",
    "mean_interval",
    "median_distance",
    "paired",
    "proportion_interval",
    "tally",
    "tv_radius",
    "tv_sample_size",
    "tv_upper",
    "tv_upper_always",
    "weissman",
]
