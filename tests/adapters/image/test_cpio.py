"""The archive that the kernel unpacks first."""

from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.image.newc import read

from flexlet.adapters.image import cpio
from flexlet.adapters.image.cpio import Entry

NAME = st.from_regex(r"[a-z][a-z0-9/_.-]{0,20}", fullmatch=True)
ENTRY = st.one_of(
    st.builds(cpio.folder, NAME),
    st.builds(cpio.program, NAME, st.binary(max_size=40)),
    st.builds(cpio.device, NAME, st.integers(0, 255), st.integers(0, 255)),
)


@given(st.lists(ENTRY, max_size=6))
def test_entries_read_back(entries: list[Entry]) -> None:
    """Every header starts at a multiple of four bytes, and what was put in comes out, then the trailer."""
    assert list(read(cpio.archive(entries))) == [*entries, Entry("TRAILER!!!", 0)]


def test_one_file_byte_by_byte() -> None:
    """The layout of the kernel's buffer-format.rst: 110 bytes of header, name and data padded to four."""
    header = "07070100000001000081ed0000000000000000000000010000000000000002"
    header += "000000000000000000000000000000000000000500000000"
    assert cpio.archive([cpio.program("init", b"hi")]).startswith(
        header.encode() + b"init\0\0" + b"hi\0\0" + b"070701"
    )
