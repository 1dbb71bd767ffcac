"""Curves A(s) and B(s) that were trained to leave a Boltzmann distribution at total time 5.

By examples/train_anneal.py, which says on what; straight lines between these points. B is in
units of the temperature that it makes: the inverse temperature of fields, beta_h, is 1.

"trained" may have any shape with A between 0 and 1, and goes with the counterterms below.
In "monotone" A falls and B rises, as in an annealer, and it goes without.
"""

_TABLE = (
    # s, then A and B of "trained", then A and B of "monotone"
    (0.0000, 0.9992, 0.1764, 1.0000, 0.0660),
    (0.0975, 0.9994, 0.0021, 0.9996, 0.0687),
    (0.1900, 0.9984, 0.1932, 0.9991, 0.0994),
    (0.2775, 0.9978, 0.1625, 0.9986, 0.1710),
    (0.3600, 0.9962, 0.2453, 0.9981, 0.2182),
    (0.4375, 0.9951, 0.3615, 0.9976, 0.2993),
    (0.5100, 0.9934, 0.3572, 0.9972, 0.3717),
    (0.5775, 0.9923, 0.4497, 0.9970, 0.4031),
    (0.6400, 0.9902, 0.5085, 0.9969, 0.4313),
    (0.6975, 0.9860, 0.5142, 0.9963, 0.4835),
    (0.7500, 0.9808, 0.5988, 0.9949, 0.5638),
    (0.7975, 0.9860, 0.7257, 0.9910, 0.6287),
    (0.8400, 0.9523, 0.6930, 0.9827, 0.7021),
    (0.8775, 0.9111, 0.7821, 0.9662, 0.8187),
    (0.9100, 0.8576, 0.9316, 0.9047, 1.0504),
    (0.9375, 0.7977, 1.2109, 0.7156, 1.5660),
    (0.9600, 0.3881, 1.7222, 0.4690, 2.5665),
    (0.9775, 0.2197, 2.5037, 0.1911, 4.7199),
    (0.9900, 0.1511, 3.4801, 0.1228, 6.7881),
    (0.9975, 0.0939, 4.3788, 0.0709, 7.9167),
    (1.0000, 0.0300, 3.0193, 0.0316, 7.9938),
)
TIMES, *_COLUMNS = zip(*_TABLE, strict=True)
TRAINED, MONOTONE = _COLUMNS[:2], _COLUMNS[2:]
# Of h and of J.
COUNTERTERMS = (0.1678, 0.0701)
