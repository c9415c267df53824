"""Parts that several witnesses of this folder share; each program is written out with those it uses."""


def around(text):
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return float(text) - half, float(text) + half
