"""The kernel's refusals in flexlet's words."""

import errno
from typing import Final

from flexlet.errors import HostBusy, HostError, HostUnsupported

_FOR_NOW: Final = (errno.EBUSY, errno.EAGAIN, errno.EINTR)
_FOR_GOOD: Final = (errno.EINVAL, errno.ERANGE, errno.EOPNOTSUPP, errno.ENOENT)
GONE: Final = (errno.ENOENT, errno.ENODEV)
"""What reading and writing say when the cgroup was removed meanwhile."""


def refused(error: OSError, doing: str) -> HostError:
    """The error for "cannot <doing>", sorted by whether asking again helps."""
    text = f"cannot {doing}: {error.strerror}"
    if error.errno in _FOR_NOW:
        return HostBusy(text)
    if error.errno in _FOR_GOOD:
        return HostUnsupported(text)
    return HostError(text)
