"""What machines get to run virtual machines: most of it once, on a disk; the rest at each start."""

import json
import tarfile
from pathlib import Path

import pytest

from flexlet.adapters.image import launcher, layout, seed, vmguest, vms
from flexlet.adapters.image.layout import ContainerImage

DEBIAN, PINS, KERNEL = (layout.blob(name) for name in (b"debian", b"dependencies", b"kernel"))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image's folder, and parts that need no building; `seed` notes what it is given."""

    def grow(_image: Path, archive: Path, overlay: Path, _progress: object) -> None:
        overlay.write_text(" ".join(blobs(archive)))

    monkeypatch.setattr(seed, "grow", grow)
    monkeypatch.setattr(vmguest, "image", lambda *_: ContainerImage((vmguest.NAME,), (KERNEL,), {}))
    code(monkeypatch, b"code")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/rootfs.img").touch()
    return tmp_path / "lab"


def code(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    layers = (DEBIAN, PINS, layout.blob(data))
    monkeypatch.setattr(launcher, "image", lambda *_: ContainerImage(("launcher:latest",), layers, {}))


def blobs(archive: Path) -> list[str]:
    """The contents of an archive that are layers."""
    with tarfile.open(archive) as tar:
        files = [file.read() for member in tar if (file := tar.extractfile(member))]
    return sorted(data.decode() for data in files if not data.startswith(b"{"))


def test_new_code_needs_no_new_disk(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk has had all layers; a machine imports only the one that is not on it, whatever it is then."""
    first = vms.parts(lab.parent, lab, print)
    assert first.disk.read_text() == "code debian dependencies kernel"
    assert blobs(first.archive) == ["code"]
    code(monkeypatch, b"newer")
    second = vms.parts(lab.parent, lab, print)
    assert (second.disk, blobs(second.archive)) == (first.disk, ["newer"])
    assert vms.parts(lab.parent, lab, print) == second


def test_a_disk_that_was_built_again_is_another_base(lab: Path) -> None:
    first = vms.parts(lab.parent, lab, print)
    (lab / "rootfs.img").unlink()
    (lab / "rootfs.img").write_text("again")
    assert vms.parts(lab.parent, lab, print).disk != first.disk


def test_an_archive_for_elsewhere_is_complete(lab: Path) -> None:
    whole = vms.archive(lab.parent, [launcher.image(lab, print)], print)
    assert blobs(whole) == ["code", "debian", "dependencies"]
    with tarfile.open(whole) as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        [entry] = json.load(index)["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "launcher:latest"
