"""The order of API versions: ``v10`` before ``v2`` before ``v1beta1`` before ``v1alpha1`` before anything else."""

import re
from typing import Final

_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY: Final = {None: 2, "beta": 1, "alpha": 0}


def priority(version: str) -> tuple[int, ...] | tuple[int, str]:
    """A key that sorts the preferred version first; names that are no versions come last, by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (1, version)
    return (0, -_STABILITY[found[2]], -int(found[1]), -int(found[3] or 0))
