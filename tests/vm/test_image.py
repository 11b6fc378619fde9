"""The image and the code layer hold what they say; looked at from outside, without booting."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.adapters.image.newc import read

import flexlet
from flexlet.adapters import image
from flexlet.adapters.image import recipe

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

MODULES = """
virtio_pci virtio_blk virtio_net virtio_console virtio_mem virtio_balloon button evdev overlay
bridge br_netfilter veth
nf_tables nft_compat nft_chain_nat nf_conntrack xt_MASQUERADE xt_comment xt_addrtype xt_conntrack xt_mark xt_nat
"""
PROGRAMS = """
/usr/bin/containerd /usr/bin/containerd-shim-runc-v2 /usr/bin/ctr /usr/sbin/runc /usr/bin/python3.13
/usr/bin/busybox /usr/sbin/init /usr/sbin/poweroff /usr/sbin/ip /usr/sbin/iptables /usr/sbin/modprobe
/usr/lib/cni/bridge /usr/lib/cni/host-local /usr/lib/cni/loopback /usr/lib/cni/portmap
"""


@pytest.fixture(scope="module")
def built() -> image.Image:
    return image.ensure(image.default_cache(), print)


@pytest.fixture(scope="module")
def code() -> Path:
    return image.code_layer(image.default_cache(), print)


def debugfs(disk: Path, request: str) -> str:
    """What debugfs answers about an ext4 disk."""
    command = ["/sbin/debugfs", "-R", request, str(disk)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exists(disk: Path, path: str) -> bool:
    return "Inode:" in debugfs(disk, f"stat {path}")


def test_programs(built: image.Image) -> None:
    assert [path for path in PROGRAMS.split() if not exists(built.rootfs, path)] == []


def test_kernel_modules(built: image.Image) -> None:
    about = json.loads((built.rootfs.parent / "image.json").read_text())
    assert about["kernel"].startswith("6.1.")
    listed = debugfs(built.rootfs, f"cat /usr/lib/modules/{about['kernel']}/modules.dep")
    names = {
        line.partition(":")[0].rpartition("/")[2].removesuffix(".ko").replace("-", "_")
        for line in listed.split("\n")
    }
    assert {name for name in MODULES.split() if name not in names} == set()


def test_kernel_and_initramfs(built: image.Image) -> None:
    assert built.kernel.read_bytes()[0x202:0x206] == b"HdrS"
    names = [entry.name for entry in read(built.initrd.read_bytes())]
    loaded = [name.partition("-")[2].removesuffix(".ko") for name in names if name.startswith("modules/")]
    assert set(recipe.Recipe().first_modules) < set(loaded)
    assert {"init", "bin/busybox", "dev/console"} < set(names)


def test_nothing_names_the_host_that_built_it(built: image.Image) -> None:
    left = ("/etc/apt/sources.list", "/etc/resolv.conf", "/etc/hostname", "/etc/machine-id")
    assert [path for path in left if exists(built.rootfs, path)] == []


def test_versions_are_written_down(built: image.Image) -> None:
    about = json.loads((built.rootfs.parent / "image.json").read_text())
    assert set(recipe.Recipe().packages) <= set(about["packages"])
    assert about["packages"]["python3"].startswith("3.13.")


def test_the_code_layer(code: Path) -> None:
    """Our code as it is here, compiled for the guest's Python, with the libraries and the container images."""
    own = Path(flexlet.__file__).read_text()
    assert debugfs(code, "cat /site/flexlet/__init__.py") == own
    compiled = ("flexlet/__pycache__/__init__", "aiohttp/__pycache__/web", "msgspec/__pycache__/__init__")
    assert [name for name in compiled if not exists(code, f"/site/{name}.cpython-313.pyc")] == []
    assert "cpython-313-x86_64-linux-gnu.so" in debugfs(code, "ls /site/msgspec")
    assert exists(code, "/guest/inittab")


def test_the_code_layers_images(code: Path, tmp_path: Path) -> None:
    debugfs(code, f"dump /images/images.tar {tmp_path}/images.tar")
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "images.tar").read_bytes())) as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        names = [entry["annotations"]["io.containerd.image.name"] for entry in json.load(index)["manifests"]]
    assert {"docker.io/flexlet/tools:latest", "docker.io/library/busybox:1", "docker.io/flexlet/pause:latest"} < {
        *names
    }
