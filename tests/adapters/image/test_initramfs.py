"""What the first root file system holds, and in which order its modules load."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.image.newc import read

from flexlet.adapters.image import initramfs
from flexlet.errors import ConfigError

DEP = """\
kernel/drivers/virtio/virtio.ko:
kernel/drivers/virtio/virtio_ring.ko: kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/drivers/block/virtio-blk.ko: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/fs/other.ko:
"""


def test_the_listing(tmp_path: Path) -> None:
    """Busybox, the script, a console and only the modules asked for, named so that their order is their name's."""
    for line in DEP.splitlines():
        path = tmp_path / line.partition(":")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    (tmp_path / "modules.dep").write_text(DEP)
    entries = list(read(initramfs.build(b"BUSYBOX", tmp_path, ["virtio_pci", "virtio_blk"])))
    assert [(oct(entry.mode), entry.name) for entry in entries] == [
        ("0o40755", "bin"),
        ("0o40755", "dev"),
        ("0o40755", "proc"),
        ("0o40755", "modules"),
        ("0o40755", "root"),
        ("0o20600", "dev/console"),
        ("0o100755", "bin/busybox"),
        ("0o100755", "init"),
        ("0o100755", "modules/00-virtio.ko"),
        ("0o100755", "modules/01-virtio_ring.ko"),
        ("0o100755", "modules/02-virtio_pci.ko"),
        ("0o100755", "modules/03-virtio-blk.ko"),
        ("0o0", "TRAILER!!!"),
    ]
    by_name = {entry.name: entry.data for entry in entries}
    assert (by_name["bin/busybox"], by_name["modules/03-virtio-blk.ko"]) == (b"BUSYBOX", b"virtio-blk.ko")
    assert by_name["init"].startswith(b"#!/bin/busybox sh\n")


def test_a_module_that_the_kernel_lacks() -> None:
    with pytest.raises(ConfigError, match="the kernel has no module virtio_scsi"):
        initramfs.load_order(DEP, ["virtio_scsi"])


@given(st.data())
def test_needs_come_first(data: st.DataObject) -> None:
    """Whatever modules are wanted, each is loaded once, after all that it needs."""
    count = data.draw(st.integers(1, 8))
    direct = {n: data.draw(st.sets(st.integers(0, n - 1)) if n else st.just(set[int]())) for n in range(count)}
    needs = {n: deepest_last(direct, n) for n in direct}
    text = "\n".join(f"kernel/m{n}.ko: " + " ".join(f"kernel/m{other}.ko" for other in needs[n]) for n in direct)
    wanted = data.draw(st.lists(st.sampled_from(sorted(direct)), unique=True))
    order = [int(path.stem[1:]) for path in initramfs.load_order(text, [f"m{n}" for n in wanted])]
    assert sorted(order) == sorted({*wanted, *(other for n in wanted for other in needs[n])})
    assert all(set(needs[n]) <= set(order[:at]) for at, n in enumerate(order))


def deepest_last(direct: dict[int, set[int]], module: int) -> list[int]:
    """All needs of a module as depmod lists them: each before its own needs."""
    found: set[int] = set()
    waiting = [module]
    while waiting:
        found |= (new := direct[waiting.pop()] - found)
        waiting += new
    return sorted(found, reverse=True)
