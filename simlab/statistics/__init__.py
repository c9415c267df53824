"""Statistical tests with known false-alarm rates and known power.

Every test is made from what is known before the data, and answers these questions:

    test.p_value(data)                         how surprising the data are under the null hypothesis
    test.power(n, level, deviation)            the least probability of an alarm at any deviation of that size
    test.detectable(n, level, power)           the smallest deviation detected with that power: what a pass is worth
    test.sample_size(deviation, level, power)  how many observations a wanted deviation takes

Of a sequential test ``test.p_value`` is of the data so far; the test of pairs has none. ``test.stated(n, level)`` is
the line that stands beside a result: n, the false-alarm rate and the detectable deviation.
A law is a mapping from outcomes to probabilities, or a row ``[V]``; counts are a mapping from outcomes to whole numbers
(:func:`tally` makes one), or an array ``[..., V]``. An outcome that the law excludes gives p-value 0. Errors are
``ValueError``.

============================  ==============================================  ========================================
test                          data, null hypothesis                           false-alarm rate
============================  ==============================================  ========================================
``GTest(law)``                counts follow the law; rare outcomes pooled     within 10 % of a level down to 1e-6 [1]_
``Sequential(law)``           the same after every batch, stop at any time    at most the level, at all times
``Paired()``                  pairs, one of either sample, follow one law     at most the level, at all times
``TwoSampleG(cells)``         two samples of counts follow one law            within 10 % of a level down to 1e-6 [1]_
``ProportionTest(rate)``      successes among n have the rate                 at most the level
``MeanTest(mean, ...)``       bounded numbers have the mean                   at most, and far below, the level
============================  ==============================================  ========================================

.. [1] Over four cells or more, and a rare one; of two small samples over just four within 15 %. Over three it is within
   a half of it, over two and a rare one from 0.4 to 2.1 times the level: chi-square is asked of what takes few values.
   Over two and no more it is at most the level.

After a pass, :func:`tv_upper` bounds how far the true law can still be, and ``Sequential.tv_upper`` does at all times.
Intervals are :func:`proportion_interval` and :func:`mean_interval`, with guaranteed coverage, and Student's, of
:func:`estimate`, :func:`paired` and, of numbers that hang together, :func:`clustered`.

Distributions are SciPy's, and by them Clopper and Pearson's interval and Student's. The tests of SciPy and statsmodels
are what these are held against where both say something; they say nothing of rare outcomes, of levels down to 1e-9, of
looking at any time, and of the power against the worst deviation of a size.
"""

from simlab.statistics.discrete import LEAST, Cells, GTest
from simlab.statistics.laws import Law, tally
from simlab.statistics.means import Estimate, MeanTest, clustered, estimate, mean_interval, paired
from simlab.statistics.pairs import Paired
from simlab.statistics.power import POWER, Planned, Stated
from simlab.statistics.proportions import ProportionTest, proportion_interval
from simlab.statistics.sequential import Sequential
from simlab.statistics.tv_bounds import tv_upper
from simlab.statistics.two_sample import TwoSampleG

__all__ = [
    "LEAST",
    "POWER",
    "Cells",
    "Estimate",
    "GTest",
    "Law",
    "MeanTest",
    "Paired",
    "Planned",
    "ProportionTest",
    "Sequential",
    "Stated",
    "TwoSampleG",
    "clustered",
    "estimate",
    "mean_interval",
    "paired",
    "proportion_interval",
    "tally",
    "tv_upper",
]
