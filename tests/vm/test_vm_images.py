"""The launcher's image and the small guest hold what they say; looked at from outside, without booting."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.image.newc import read

import flexlet
from flexlet.adapters import image
from flexlet.adapters.image import launcher, vmguest
from flexlet.core.vm.settings import IMAGE

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

PROGRAMS = """
usr/bin/busybox usr/bin/flexlet usr/bin/python3.13 usr/bin/qemu-img usr/bin/qemu-system-x86_64 usr/bin/setpriv
"""


@pytest.fixture(scope="module")
def archive() -> Path:
    return image.launcher_archive(image.default_cache(), print)


def layers(archive: Path) -> list[dict[str, tarfile.TarInfo]]:
    """The members of each layer of the only image of an archive."""
    with tarfile.open(archive) as tar:
        [entry] = _json(tar, "index.json")["manifests"]
        assert entry["annotations"]["io.containerd.image.name"] == IMAGE
        manifest = _json(tar, _path(entry))
        found = []
        for each in manifest["layers"]:
            with tarfile.open(fileobj=tar.extractfile(_path(each))) as layer:
                found.append({member.name: member for member in layer})
    return found


def test_the_launcher_has_all_that_it_runs(archive: Path) -> None:
    """QEMU of an age that survives plugging, in a layer of Debian alone; flexlet's own is the last and small."""
    debian, dependencies, code = layers(archive)
    assert [path for path in PROGRAMS.split() if path not in debian | dependencies | code] == []
    assert {name.split("/")[0] for name in dependencies | code} == {"opt", "usr"}
    assert "opt/flexlet/site/flexlet/__pycache__/__init__.cpython-313.pyc" in code
    assert sum(member.size for member in code.values()) < 40 << 20
    about = next((image.default_cache() / "launchers" / _recipe()).glob("image.json"))
    version = json.loads(about.read_text())["packages"]["qemu-system-x86"]
    assert int(version.partition(":")[2].partition(".")[0]) >= 10


def test_nothing_names_the_host_that_built_it(archive: Path) -> None:
    debian = layers(archive)[0]
    left = ("etc/apt/sources.list", "etc/resolv.conf", "etc/hostname", "etc/machine-id")
    assert [path for path in left if path in debian] == []
    assert [name for name in debian if name.startswith(("dev/", "proc/", "sys/", "var/cache/"))] == []


def test_the_small_guest_can_be_plugged() -> None:
    """Its kernel starts unpacked, and has the drivers of what is plugged and of the power button."""
    cache = image.default_cache()
    lab = image.ensure(cache, print).rootfs.parent
    [layer] = vmguest.image(cache, lab, print).layers
    with layer.open() as data, tarfile.open(fileobj=data) as tar:
        files = {member.name: file.read() for member in tar if (file := tar.extractfile(member))}
    assert set(files) == {path.lstrip("/") for path in (vmguest.KERNEL, vmguest.INITRD, vmguest.DISK)}
    assert files["boot/vmlinux"].startswith(b"\x7fELF")
    inside = [entry.name for entry in read(files["boot/initrd.img"])]
    modules = {name.partition("-")[2].removesuffix(".ko") for name in inside if name.startswith("modules/")}
    assert set(vmguest.MODULES) < modules
    own = Path(flexlet.__file__).parent / "adapters/image/files/vmguest-init"
    assert own.read_bytes() in files["boot/initrd.img"]


def _recipe() -> str:
    return launcher.digest(launcher.LauncherRecipe())


def _path(descriptor: dict[str, Any]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def _json(tar: tarfile.TarFile, name: str) -> Any:
    found = tar.extractfile(name)
    assert found is not None
    return json.load(io.TextIOWrapper(found))
