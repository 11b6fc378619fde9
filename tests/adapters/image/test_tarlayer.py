"""Layers made of archives and of folders."""

import io
import os
import tarfile
from pathlib import Path

from flexlet.adapters.image import tarlayer


def listed(layer: Path) -> list[tuple[str, str, int, str, int]]:
    """Name, type, mode, link and owner of all members; no member has a time."""
    with tarfile.open(layer) as tar:
        members = tar.getmembers()
    assert {member.mtime for member in members} == {0}
    return [(m.name, m.type.decode(), m.mode, m.linkname, m.uid) for m in members]


def test_an_archive_without_devices_and_times(tmp_path: Path) -> None:
    """Owners, modes and links stay; what a runtime mounts stays empty."""
    with tarfile.open(tmp_path / "in.tar", "w") as tar:
        for name, kind, link in (
            ("./", tarfile.DIRTYPE, ""),
            ("./bin", tarfile.SYMTYPE, "usr/bin"),
            ("./dev", tarfile.DIRTYPE, ""),
            ("./dev/null", tarfile.CHRTYPE, ""),
            ("./usr/bin/su", tarfile.REGTYPE, ""),
            ("./usr/bin/sudo", tarfile.LNKTYPE, "./usr/bin/su"),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode, info.mtime, info.uid = kind, link, 0o755, 99.5, 7
            data = b"root!" if kind == tarfile.REGTYPE else b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    tarlayer.repacked(tmp_path / "in.tar", tmp_path / "out.tar")
    assert listed(tmp_path / "out.tar") == [
        ("bin", "2", 0o755, "usr/bin", 7),
        ("dev", "5", 0o755, "", 7),
        ("usr/bin/su", "0", 0o755, "", 7),
        ("usr/bin/sudo", "1", 0o755, "usr/bin/su", 7),
    ]
    with tarfile.open(tmp_path / "out.tar") as tar:
        found = tar.extractfile("usr/bin/su")
        assert found is not None
        assert found.read() == b"root!"


def test_folders_belong_to_root_and_everyone_may_read_them(tmp_path: Path) -> None:
    """A file of two names is two files; folders above come once."""
    site = tmp_path / "site"
    (site / "pkg").mkdir(parents=True, mode=0o700)
    (site / "pkg/a.py").write_text("a")
    (site / "pkg/a.py").chmod(0o600)
    os.link(site / "pkg/a.py", site / "pkg/b.py")
    (tmp_path / "run").write_text("#!")
    (tmp_path / "run").chmod(0o755)
    for number in range(2):
        tarlayer.packed({"opt/x/site": site, "opt/bin/run": tmp_path / "run"}, tmp_path / f"{number}.tar")
    assert listed(tmp_path / "0.tar") == [
        ("opt", "5", 0o755, "", 0),
        ("opt/bin", "5", 0o755, "", 0),
        ("opt/bin/run", "0", 0o755, "", 0),
        ("opt/x", "5", 0o755, "", 0),
        ("opt/x/site", "5", (site.stat().st_mode & 0o777) | 0o555, "", 0),
        ("opt/x/site/pkg", "5", 0o755, "", 0),
        ("opt/x/site/pkg/a.py", "0", 0o644, "", 0),
        ("opt/x/site/pkg/b.py", "0", 0o644, "", 0),
    ]
    assert (tmp_path / "0.tar").read_bytes() == (tmp_path / "1.tar").read_bytes()
