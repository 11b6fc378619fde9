"""The command line that QEMU is started with, word by word."""

import shlex

import msgspec
import pytest

from flexlet.api.units import GIB, MIB
from flexlet.core.lab.arguments import Accelerator
from flexlet.core.lab.devices import Dimm
from flexlet.core.vm import bootline
from flexlet.core.vm.bootline import Channels, boot_line
from flexlet.core.vm.guest import Disk, Forward, Machine

CHANNELS = Channels(monitors=(3, 4), agent=5, serial=6)
ELASTIC = "virtio-mem-pci,id=vmem0,memdev=vmem0-backend,bus=vmem0-port"
SMALL = Machine(
    name="db",
    sockets=1,
    max_sockets=4,
    min_memory=512 * MIB,
    memory=768 * MIB,
    max_memory=2 * GIB,
    kernel="/k/vmlinuz",
)


def line(machine: Machine, accelerator: Accelerator = "kvm") -> list[str]:
    return boot_line(machine, accelerator, CHANNELS, "/run/vm/pid")


def values(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


def test_the_whole_line_of_a_machine_on_kvm() -> None:
    machine = msgspec.structs.replace(
        SMALL,
        sockets=2,
        initrd="/k/initrd",
        kernel_args="quiet console=hvc0",
        has_network=True,
        forwards=(Forward(port=22), Forward(port=53, protocol="UDP")),
        disks=(
            Disk(name="root", path="/disks/root/a,b.img", is_snapshot=True),
            Disk(name="data", path="/disks/data/disk.qcow2", format="qcow2", is_readonly=True),
        ),
        incoming=True,
    )
    expected = f"""
    -name guest=db,debug-threads=on -machine q35 -accel kvm -cpu host
    -smp cpus=1,maxcpus=4,sockets=4,cores=1,threads=1 -m size=512M,maxmem=2048M -nodefaults -no-user-config
    -display none -device pvpanic-pci,addr=2 -pidfile /run/vm/pid
    -kernel /k/vmlinuz -initrd /k/initrd
    -append 'console=ttyS0 memhp_default_state=online_movable quiet console=hvc0'
    -chardev socket,id=qmp0,fd=3,server=on,wait=off -mon chardev=qmp0,mode=control
    -chardev socket,id=qmp1,fd=4,server=on,wait=off -mon chardev=qmp1,mode=control
    -chardev socket,id=serial,fd=6,server=on,wait=off -serial chardev:serial
    -device virtio-serial-pci,addr=3
    -chardev socket,id=agent,fd=5,server=on,wait=off
    -device virtserialport,chardev=agent,id=agent,name=org.qemu.guest_agent.0
    -drive if=none,id=disk0,file=/disks/root/a,,b.img,format=raw,snapshot=on,discard=unmap
    -device virtio-blk-pci,drive=disk0,serial=root,addr=0x4
    -drive if=none,id=disk1,file=/disks/data/disk.qcow2,format=qcow2,readonly=on,discard=unmap
    -device virtio-blk-pci,drive=disk1,serial=data,addr=0x5
    -netdev user,id=net0,hostfwd=tcp::22-:22,hostfwd=udp::53-:53
    -device virtio-net-pci,netdev=net0,romfile=,addr=0x10
    -device pcie-root-port,id=plug0,chassis=2,addr=0x12 -device pcie-root-port,id=plug1,chassis=3,addr=0x13
    -device pcie-root-port,id=plug2,chassis=4,addr=0x14 -device pcie-root-port,id=plug3,chassis=5,addr=0x15
    -object memory-backend-ram,id=vmem0-backend,size=1536M,reserve=off
    -device pcie-root-port,id=vmem0-port,chassis=1,addr=0x11
    -device {ELASTIC},block-size=2M,requested-size=256M,dynamic-memslots=on
    -device host-x86_64-cpu,id=vcpu-1-0-0,socket-id=1,core-id=0,thread-id=0
    -incoming defer
    """
    assert line(machine) == shlex.split(expected)


def test_emulation_has_places_for_many_starts_and_tells_the_kernel_how_many_count() -> None:
    words = line(SMALL, "tcg")
    assert values(words, "-smp") == ["cpus=1,maxcpus=255,sockets=255,cores=1,threads=1"]
    assert values(words, "-cpu") == ["max,la57=off,cx16=off"]
    assert "nr_cpus=4" in values(words, "-append")[0].split()


def test_a_kernel_that_cannot_be_told_gets_few_places() -> None:
    words = line(msgspec.structs.replace(SMALL, kernel=""), "tcg")
    assert values(words, "-smp") == ["cpus=1,maxcpus=16,sockets=16,cores=1,threads=1"]
    assert values(words, "-append") == []


def test_a_machine_that_cannot_grow_has_no_elastic_memory() -> None:
    """A device of size 0 is an error of QEMU."""
    words = line(msgspec.structs.replace(SMALL, memory=512 * MIB, max_memory=512 * MIB))
    assert values(words, "-m") == ["size=512M"]
    assert not [word for word in words if "vmem0" in word]


def test_whole_sockets_are_plugged() -> None:
    words = line(msgspec.structs.replace(SMALL, sockets=2, cores=2, threads=2))
    assert values(words, "-smp") == ["cpus=4,maxcpus=16,sockets=4,cores=2,threads=2"]
    assert [word for word in words if word.startswith("host-x86_64-cpu")] == [
        f"host-x86_64-cpu,id=vcpu-1-{core}-{thread},socket-id=1,core-id={core},thread-id={thread}"
        for core in (0, 1)
        for thread in (0, 1)
    ]


@pytest.mark.parametrize("model", ["", "host-model", "host-passthrough"])
def test_the_hosts_own_model_by_any_name(model: str) -> None:
    assert values(line(msgspec.structs.replace(SMALL, cpu_model=model)), "-cpu") == ["host"]


def test_a_model_by_name_is_the_model_of_plugged_cpus_too() -> None:
    words = line(msgspec.structs.replace(SMALL, sockets=2, cpu_model="Skylake-Server,avx512f=off"))
    assert values(words, "-cpu") == ["Skylake-Server,avx512f=off"]
    assert values(words, "-device")[-1].startswith("Skylake-Server-x86_64-cpu,id=vcpu-1-0-0")


def test_memory_of_modules() -> None:
    machine = msgspec.structs.replace(SMALL, memory=1792 * MIB, memory_device="pc-dimm")
    words = line(machine)
    assert bootline.modules_at_start(machine) == (Dimm(0, GIB), Dimm(1, 256 * MIB))
    assert values(words, "-m") == ["size=512M,slots=32,maxmem=2048M"]
    assert values(words, "-object") == [
        "memory-backend-ram,id=dimm0-backend-1024M,size=1024M",
        "memory-backend-ram,id=dimm1-backend-256M,size=256M",
    ]


def test_huge_pages_are_taken_when_they_are_plugged() -> None:
    words = line(msgspec.structs.replace(SMALL, page_size=2 * MIB))
    assert values(words, "-machine") == ["q35,memory-backend=ram0"]
    assert values(words, "-object") == [
        "memory-backend-memfd,id=ram0,size=512M,hugetlb=on,hugetlbsize=2M",
        "memory-backend-memfd,id=vmem0-backend,size=1536M,hugetlb=on,hugetlbsize=2M,reserve=off",
    ]
    assert values(words, "-device")[-1].endswith(",dynamic-memslots=on,prealloc=on")
