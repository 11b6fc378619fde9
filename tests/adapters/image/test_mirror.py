"""Where Debian packages come from, read from the host's apt configuration."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.adapters.image import mirror
from flexlet.adapters.image.mirror import Source

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEB822 = f"""\
# Comments stand between and inside stanzas.
Types: deb deb-src
# http://old.test/debian
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: {KEYRING}

Types: deb
URIs: http://one.test/debian http://two.test/debian
Suites:
 bookworm-security
 other
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBGPL0BUBEADmW5NdOOHwPIJlgPu6JDcKw+NZJPR8lsD3K87ZM18gzyQZJD+w

Enabled: no
Types: deb
URIs: http://off.test/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.test/debian
Suites: bookworm
Components: main
"""
LINES = f"""\
# deb http://comment.test/debian bookworm main
deb http://security.test/debian-security bookworm-security main
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
deb-src http://source.test/debian bookworm main
deb [arch=amd64 signed-by={KEYRING}] http://mirror.test/debian bookworm main contrib  # ours
deb http://plain.test/debian bookworm-updates main
"""


def test_deb822_stanzas() -> None:
    """Disabled and source-only stanzas are left out, an inline key is no path, each address is a source."""
    inline = ("bookworm-security", "other"), ("main",), ""
    assert list(mirror.parse_deb822(DEB822)) == [
        Source("http://mirror.test/debian", ("bookworm", "bookworm-updates"), ("main", "contrib"), KEYRING),
        Source("http://one.test/debian", *inline),
        Source("http://two.test/debian", *inline),
    ]


def test_one_line_entries() -> None:
    sources = list(mirror.parse_lines(LINES))
    assert [source for source in sources if not source.uri.startswith("cdrom:")] == [
        Source("http://security.test/debian-security", ("bookworm-security",), ("main",)),
        Source("http://mirror.test/debian", ("bookworm",), ("main", "contrib"), KEYRING),
        Source("http://plain.test/debian", ("bookworm-updates",), ("main",)),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("sources.list", LINES), ("sources.list.d/a.list", LINES), ("sources.list.d/a.sources", DEB822)],
)
def test_the_hosts_own_release_names_the_mirror(tmp_path: Path, name: str, text: str) -> None:
    """Not security's address, not a third party's, not a disc."""
    host(tmp_path, "ID=debian\nVERSION_CODENAME=bookworm\n", **{name: text})
    found = mirror.of_host(tmp_path)
    assert found is not None
    assert found.line("trixie") == f"deb [signed-by={KEYRING}] http://mirror.test/debian trixie main"
    assert mirror.codename(tmp_path) == "bookworm"
    assert mirror.has_suite("bookworm-updates", tmp_path)
    assert not mirror.has_suite("bookworm-backports", tmp_path)


def test_a_release_may_be_named_by_its_rank(tmp_path: Path) -> None:
    text = "deb http://third.test/apt nodistro main\ndeb http://mirror.test/debian stable main\n"
    host(tmp_path, 'ID=debian\nVERSION_CODENAME="trixie"\n', **{"sources.list": text})
    assert mirror.of_host(tmp_path) == Source("http://mirror.test/debian", ("stable",), ("main",))


@pytest.mark.parametrize("release", ["ID=ubuntu\nVERSION_CODENAME=noble\n", "", None])
def test_other_hosts_have_no_debian_mirror(tmp_path: Path, release: str | None) -> None:
    host(tmp_path, release, **{"sources.list": LINES.replace("bookworm", "noble")})
    assert mirror.of_host(tmp_path) is None
    assert mirror.codename(tmp_path) == ""


WORD = st.from_regex(r"[a-z][a-z0-9./-]{0,12}", fullmatch=True)


@given(WORD, WORD, st.sampled_from(["", KEYRING]))
def test_what_is_written_reads_back(path: str, suite: str, signed_by: str) -> None:
    """The entry made for another suite is an entry of that suite at the same address, signed by the same keys."""
    source = Source(f"http://{path}", ("bookworm",), ("main",), signed_by)
    assert list(mirror.parse_lines(source.line(suite))) == [Source(source.uri, (suite,), ("main",), signed_by)]


def host(root: Path, release: str | None, **files: str) -> None:
    """A host's /etc with these apt sources."""
    (root / "etc/apt/sources.list.d").mkdir(parents=True)
    if release is not None:
        (root / "etc/os-release").write_text(release)
    for name, text in files.items():
        (root / "etc/apt" / name).write_text(text)
