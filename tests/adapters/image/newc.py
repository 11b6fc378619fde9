"""A reader of newc archives, as strict as the kernel's."""

import stat
from collections.abc import Iterator

from flexlet.adapters.image.cpio import Entry


def read(data: bytes) -> Iterator[Entry]:
    """Entries of a newc archive, as the kernel takes them."""
    position = 0
    while position < len(data):
        assert position % 4 == 0
        assert data[position : position + 6] == b"070701"
        fields = [int(data[position + at : position + at + 8], 16) for at in range(6, 110, 8)]
        mode, size, major, minor, name_size = fields[1], fields[6], fields[9], fields[10], fields[11]
        name = data[position + 110 : position + 110 + name_size - 1].decode()
        start = -(-(position + 110 + name_size) // 4) * 4
        yield Entry(name, mode, data[start : start + size], (major, minor))
        assert fields[4] == (2 if stat.S_ISDIR(mode) else 1)
        position = -(-(start + size) // 4) * 4
