"""Typed from SJD-PAC's Table 1 and GSD's Table 1, PartiPrompts, Lumina-mGPT; a score is lower if it is by more than
rounding.
"""

OWN, GSD, QUOTED = "32.07", "32.075", "31.25"


def recompute(examples):
    assert not float(OWN) - 0.005 > float(GSD) + 0.0005, "GSD's score is lower"
    assert float(OWN) - 0.005 > float(QUOTED) + 0.005
    return [{"CLIP score on PartiPrompts": {"SJD-PAC": OWN, "GSD": GSD, "GSD in SJD-PAC": QUOTED}} for _ in examples]
