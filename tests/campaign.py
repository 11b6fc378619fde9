"""How long campaigns are: short enough for every change (``make test-slow``), or ``make test-full``."""

import os

FULL = os.environ.get("FLEXLET_CAMPAIGN") == "full"


def length(usual: int, full: int) -> int:
    """So many examples, lives or rounds."""
    return full if FULL else usual
