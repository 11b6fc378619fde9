"""The kernel inside a compressed kernel image: an ELF file that QEMU starts at its PVH entry.

A kernel that need not unpack itself is up much earlier where every instruction is emulated, and far more so where
it is emulated twice. Follows the kernel's Documentation/arch/x86/boot.rst; LZ4, which Debian 12's kernels use, is
unpacked here: the host need not have a program for it.
"""

import struct
from collections.abc import Iterator
from typing import Final

_SECTOR: Final = 512
_SETUP_SECTORS: Final = 0x1F1
_PAYLOAD: Final = 0x248
_ELF: Final = b"\x7fELF"
_LZ4: Final = b"\x02\x21\x4c\x18"
_LENGTH_GOES_ON: Final = 255
_LONG: Final = 15
_LEAST_MATCH: Final = 4


def unpacked(image: bytes) -> bytes | None:
    """The kernel of a bzImage, if it was packed in a way that is known here."""
    start = (image[_SETUP_SECTORS] + 1) * _SECTOR
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    payload = image[start + offset : start + offset + length]
    if not payload.startswith(_LZ4):
        return None
    kernel = b"".join(_block(block) for block in _blocks(payload[len(_LZ4) : -4]))
    return kernel if kernel.startswith(_ELF) else None


def _blocks(payload: bytes) -> Iterator[bytes]:
    """Each block follows its length; at the very end of the payload (cut off here) is the size of all of them."""
    place = 0
    while place < len(payload):
        (length,) = struct.unpack_from("<I", payload, place)
        yield payload[place + 4 : place + 4 + length]
        place += 4 + length


def _block(source: bytes) -> bytes:
    """An LZ4 block: bytes to take as they are, then how far back and how much to repeat, again and again."""
    out, place = bytearray(), 0
    while True:
        token = source[place]
        count, place = _length(source, place + 1, token >> 4)
        out += source[place : place + count]
        place += count
        if place >= len(source):
            return bytes(out)
        distance = source[place] | source[place + 1] << 8
        count, place = _length(source, place + 2, token & _LONG)
        count += _LEAST_MATCH
        start = len(out) - distance
        again = out[start : start + count]
        # What is repeated may be what is just being written.
        out += again if len(again) == count else (again * (count // len(again) + 1))[:count]


def _length(source: bytes, place: int, short: int) -> tuple[int, int]:
    """A length of which the token has the beginning, and where reading goes on."""
    total = short
    if short == _LONG:
        while True:
            more = source[place]
            total, place = total + more, place + 1
            if more != _LENGTH_GOES_ON:
                break
    return total, place
