"""SJD-PAC, SJD with proactive drafting and adaptive continuation."""

MODULES = ("losslessness", "locality", "speed", "readings")
