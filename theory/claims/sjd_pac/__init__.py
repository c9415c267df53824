"""SJD-PAC, SJD with proactive drafting and adaptive continuation."""

MODULES = ("motivation", "losslessness", "locality", "speed", "readings", "reference_code", "printed", "headlines")
