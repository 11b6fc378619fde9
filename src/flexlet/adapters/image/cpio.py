"""The `newc` cpio format, as the kernel unpacks it into its first root file system.

Pure bytes in, bytes out: no root, no device nodes on the host and no cpio program are needed. Follows the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst. Owners are always root and times always zero, so equal
entries give equal bytes.
"""

import stat
from collections.abc import Iterable

import msgspec

_TRAILER = "TRAILER!!!"


class Entry(msgspec.Struct, frozen=True):
    """One file, folder or device; `name` is relative to the root."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str) -> Entry:
    """A folder that everyone may enter."""
    return Entry(name, stat.S_IFDIR | 0o755)


def program(name: str, data: bytes) -> Entry:
    """A file that everyone may execute."""
    return Entry(name, stat.S_IFREG | 0o755, data)


def device(name: str, major: int, minor: int) -> Entry:
    """A character device."""
    return Entry(name, stat.S_IFCHR | 0o600, device=(major, minor))


def archive(entries: Iterable[Entry]) -> bytes:
    """The bytes of an archive; folders must come before what is in them."""
    members = [_member(number, entry) for number, entry in enumerate(entries, start=1)]
    return b"".join([*members, _member(0, Entry(_TRAILER, 0))])


def _member(inode: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
