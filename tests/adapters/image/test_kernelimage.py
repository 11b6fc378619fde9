"""The kernel in a kernel image."""

import struct

import pytest

from flexlet.adapters.image import kernelimage

ELF = b"\x7fELF"


def image(payload: bytes) -> bytes:
    """A bzImage with two sectors of setup and something before the payload."""
    setup = bytearray(3 * 512)
    setup[0x1F1] = 2
    struct.pack_into("<II", setup, 0x248, 16, len(payload))
    return bytes(setup) + b"x" * 16 + payload + b"rest"


def lz4(*blocks: bytes) -> bytes:
    packed = b"".join(struct.pack("<I", len(block)) + block for block in blocks)
    return b"\x02\x21\x4c\x18" + packed + b"size"


@pytest.mark.parametrize(
    ("blocks", "kernel"),
    [
        ((b"\x40" + ELF,), ELF),
        ((b"\x40" + ELF, b"\x20ab"), ELF + b"ab"),
        # Four bytes, six of them again from four back: it repeats what it writes; then two more.
        ((b"\x42" + ELF + b"\x04\x00" + b"\x20yz",), ELF + ELF + ELF[:2] + b"yz"),
        # A match that is shorter than its distance.
        ((b"\x60" + ELF + b"ab" + b"\x06\x00" + b"\x10z",), ELF + b"ab" + ELF + b"z"),
        # Lengths beyond what a token holds: 15 + 255 + 3 literals, a match of 4 + 15 + 0.
        (
            (b"\xff\xff\x03" + ELF + b"." * 269 + b"\x01\x00\x00" + b"\x10z",),
            ELF + b"." * (269 + 19) + b"z",
        ),
    ],
    ids=["literals", "two blocks", "overlapping", "apart", "long"],
)
def test_lz4(blocks: tuple[bytes, ...], kernel: bytes) -> None:
    assert kernelimage.unpacked(image(lz4(*blocks))) == kernel


def test_what_is_not_known_is_left_packed() -> None:
    assert kernelimage.unpacked(image(b"\x28\xb5\x2f\xfd zstd")) is None
    assert kernelimage.unpacked(image(lz4(b"\x40none"))) is None
