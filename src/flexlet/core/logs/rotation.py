"""Which old log files stay when a log is rotated.

Beside ``0.log`` lie ``0.log.20260102-030405`` (the last one, which log collectors may still read),
``0.log.20260101-....gz`` and, after a crash, a half-made ``.tmp`` or a file that was already compressed. A
rotation adds one plain file and the runtime a new live one, so two of the allowed files are spoken for.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

COMPRESSED: Final = ".gz"
UNFINISHED: Final = ".tmp"
STAMP_FORMAT: Final = "%Y%m%d-%H%M%S"


class Tidying(msgspec.Struct, frozen=True):
    """What to remove and what to compress before the live log is moved away, in this order."""

    remove: tuple[str, ...] = ()
    compress: tuple[str, ...] = ()


def tidy(rotated: Sequence[str], max_files: int) -> Tidying:
    """What becomes of the files named after a log, given how many may stay beside it."""
    present = set(rotated)
    unused = {name for name in present if name.endswith(UNFINISHED) or name + COMPRESSED in present}
    kept = sorted(present - unused)
    excess = kept[: max(0, len(kept) - max(0, max_files - 2))]
    staying = kept[len(excess) :]
    return Tidying(
        remove=(*sorted(unused), *excess),
        compress=tuple(name for name in staying if not name.endswith(COMPRESSED)),
    )
