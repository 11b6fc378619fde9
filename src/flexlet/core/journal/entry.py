"""One line of the journal."""

from typing import Any, Final

import msgspec

LEARNED: Final = "learned"
DECIDED: Final = "decided"
TOLD: Final = "told"

Note = dict[str, Any]
"""What an entry holds: ``type`` says which kind of observation, deed or event it was."""


class Entry(msgspec.Struct, frozen=True):
    """When it was, whether it was learned, decided or told, about whom (a pod's uid), and what."""

    at: float
    kind: str
    subject: str
    what: Any
