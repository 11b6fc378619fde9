"""The switches of CPUs and blocks of memory in sysfs, below the host root.

Taking memory offline moves everything out of it, which may take for ever, and only a signal makes the kernel give
up: it is done in a child that can be killed.
"""

import asyncio
import errno
import os
import sys
from typing import Final

from flexlet.core.machine.parts import OnlineAs, Part, PartRefused
from flexlet.errors import HostError

_REFUSALS: Final = frozenset(
    {errno.EBUSY, errno.EINVAL, errno.ENOENT, errno.ENODEV, errno.EAGAIN, errno.EIO, errno.ENOMEM, errno.EPERM}
)
"""EPERM is the kernel's answer for a thread that SMT control keeps off; a lack of rights is EACCES or EROFS."""
_CHILD: Final = """
import os, sys
try:
    switch = os.open(sys.argv[1], os.O_WRONLY)
    os.write(switch, sys.argv[2].encode())
except OSError as error:
    sys.exit(error.errno)
"""


class SysfsParts:
    """`flexlet.ports.parts.Parts` over the files of one root."""

    def __init__(self, root: str = "/") -> None:
        self._root = root.rstrip("/")

    async def online(self, part: Part, as_: OnlineAs = "online") -> PartRefused | None:
        """Bring a part online, away from the event loop."""
        word = "1" if part.kind == "cpu" else as_
        code = await asyncio.to_thread(_write, self._root + part.switch, word)
        return _outcome(part, word, code)

    async def offline(self, part: Part, timeout_s: float) -> PartRefused | None:
        """Take a part offline in a child, which is killed when it takes too long."""
        word = "0" if part.kind == "cpu" else "offline"
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _CHILD, self._root + part.switch, word
        )
        try:
            code = await asyncio.wait_for(child.wait(), timeout_s)
        except TimeoutError:
            code = errno.ETIMEDOUT
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return _outcome(part, word, code)


def _write(path: str, word: str) -> int:
    """0, or the number of the kernel's answer."""
    try:
        switch = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(switch, word.encode())
        finally:
            os.close(switch)
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _outcome(part: Part, word: str, code: int) -> PartRefused | None:
    if code == 0:
        return None
    name, words = errno.errorcode.get(code, str(code)), os.strerror(code)
    message = f"cannot write {word} to {part.switch}: {words}"
    if code in _REFUSALS or code == errno.ETIMEDOUT:
        return PartRefused(part=part, reason=name, message=message)
    raise HostError(f"{message}: flexlet needs root and a writable /sys to switch parts of the machine")
