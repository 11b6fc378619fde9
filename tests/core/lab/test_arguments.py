from typing import Any

import msgspec
import pytest

from flexlet.api.units import GIB, MIB
from flexlet.core.lab.arguments import Accelerator, Boot, Channels, arguments, port_name
from flexlet.core.lab.spec import Inventory, MachineSpec, factory

BOOT = Boot(
    "/i/vmlinuz", "/i/initrd", "/m/overlay.qcow2", "/c/code.img", "/m/config.tar", "/m/console.log", "/m/pid"
)
SPEC = MachineSpec("n1", cpus=2, max_cpus=8, memory=2 * GIB, max_memory=16 * GIB)
CHANNELS = Channels((3, 4), (5, 6))
LINE = """
-name guest=n1 -machine q35 -accel tcg,thread=multi -cpu max,la57=off,cx16=off
-smp cpus=1,maxcpus=255,sockets=255,cores=1,threads=1 -m size=2048M,slots=32,maxmem=30720M
-nodefaults -no-user-config -no-reboot -display none
-pidfile /m/pid -kernel /i/vmlinuz -initrd /i/initrd -append KERNEL
-chardev file,id=console,path=/m/console.log,append=on -serial chardev:console
-drive if=none,id=vda,file=/m/overlay.qcow2,format=qcow2,discard=unmap,cache=unsafe
-device virtio-blk-pci,drive=vda,addr=4
-drive if=none,id=vdb,file=/c/code.img,format=raw,readonly=on -device virtio-blk-pci,drive=vdb,addr=5
-drive if=none,id=vdc,file=/m/config.tar,format=raw,readonly=on -device virtio-blk-pci,drive=vdc,addr=6
-chardev socket,id=qmp0,fd=3,server=on,wait=off -mon chardev=qmp0,mode=control
-chardev socket,id=qmp1,fd=4,server=on,wait=off -mon chardev=qmp1,mode=control
-device virtio-serial-pci,addr=7
-chardev socket,id=exec0,fd=5,server=on,wait=off -device virtserialport,chardev=exec0,name=flexlet.exec
-chardev socket,id=exec1,fd=6,server=on,wait=off -device virtserialport,chardev=exec1,name=flexlet.exec.1
-netdev user,id=net0 -device virtio-net-pci,netdev=net0,romfile=,addr=8
-object memory-backend-ram,id=vmem0-backend,size=14336M,reserve=off
-device pcie-root-port,id=vmem0-port,chassis=1,addr=9
-device virtio-mem-pci,id=vmem0,memdev=vmem0-backend,bus=vmem0-port,block-size=2M,requested-size=0M
-device max-x86_64-cpu,id=vcpu-1-0-0,socket-id=1,core-id=0,thread-id=0
"""


def line(
    spec: MachineSpec = SPEC,
    inventory: Inventory | None = None,
    accelerator: Accelerator = "tcg",
    **forwards: Any,
) -> list[str]:
    ports = {int(host.removeprefix("p")): guest for host, guest in forwards.items()}
    return arguments(spec, inventory or factory(spec), ports, BOOT, CHANNELS, accelerator)


def test_the_whole_line() -> None:
    words = line()
    kernel = words[words.index("-append") + 1]
    assert ["KERNEL" if word == kernel else word for word in words] == LINE.split()
    assert kernel == (
        "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off"
        " memhp_default_state=online_movable nr_cpus=8"
    )


def test_what_was_plugged_is_there_again() -> None:
    """With the ids that a plug would have given, so that it can be unplugged."""
    words = line(inventory=Inventory((0, 5), {2: 512 * MIB}, 6 * MIB))
    assert [word for word in words if "vcpu" in word or "dimm" in word or "virtio-mem" in word] == [
        "virtio-mem-pci,id=vmem0,memdev=vmem0-backend,bus=vmem0-port,block-size=2M,requested-size=6M",
        "max-x86_64-cpu,id=vcpu-5-0-0,socket-id=5,core-id=0,thread-id=0",
        "memory-backend-ram,id=dimm2-backend-512M,size=512M",
        "pc-dimm,id=dimm2,memdev=dimm2-backend-512M,slot=2",
    ]


def test_forwards_listen_on_the_loopback_only() -> None:
    words = line(p2222=22, p10250=10250)
    assert words[words.index("-netdev") + 1] == (
        "user,id=net0,hostfwd=tcp:127.0.0.1:2222-:22,hostfwd=tcp:127.0.0.1:10250-:10250"
    )


def test_no_control_channel_is_a_network_port() -> None:
    words = line(p1=1)
    assert [word for word in words if "tcp" in word] == ["user,id=net0,hostfwd=tcp:127.0.0.1:1-:1"]


def test_a_machine_that_cannot_grow_has_no_memory_devices() -> None:
    words = line(MachineSpec("n", 1, 1, GIB, GIB))
    assert words[words.index("-m") + 1] == "size=1024M"
    assert not [word for word in words if "mem" in word and "memhp" not in word]


def test_an_emulated_machine_has_slots_to_spare_that_its_guest_does_not_see() -> None:
    """QEMU's emulator can start as many CPUs as it has slots, in all its life; KVM has no such limit."""
    emulated, native = line(), line(accelerator="kvm")
    assert emulated[emulated.index("-smp") + 1] == "cpus=1,maxcpus=255,sockets=255,cores=1,threads=1"
    assert emulated[emulated.index("-append") + 1].split()[-1] == "nr_cpus=8"
    assert native[native.index("-smp") + 1] == "cpus=1,maxcpus=8,sockets=8,cores=1,threads=1"
    assert "nr_cpus" not in native[native.index("-append") + 1]


@pytest.mark.parametrize(("accelerator", "model"), [("kvm", "host"), ("tcg", "max,la57=off,cx16=off")])
def test_the_cpu_model_follows_the_accelerator(accelerator: Accelerator, model: str) -> None:
    words = line(accelerator=accelerator)
    assert words[words.index("-cpu") + 1] == model
    assert [word for word in words if "vcpu-1" in word] == [
        f"{model.split(',', maxsplit=1)[0]}-x86_64-cpu,id=vcpu-1-0-0,socket-id=1,core-id=0,thread-id=0"
    ]


def test_a_comma_in_a_path_does_not_end_the_option() -> None:
    odd = Boot("/k", "/i", "/a,b/overlay.qcow2", "/c", "/t", "/l", "/p")
    words = arguments(SPEC, factory(SPEC), {}, odd, CHANNELS, "tcg")
    assert "if=none,id=vda,file=/a,,b/overlay.qcow2,format=qcow2,discard=unmap,cache=unsafe" in words


def test_images_for_virtual_machines_are_a_fourth_disk() -> None:
    more = msgspec.structs.replace(BOOT, vm_images="/v/images.tar")
    words = arguments(SPEC, factory(SPEC), {}, more, CHANNELS, "tcg")
    plain = arguments(SPEC, factory(SPEC), {}, BOOT, CHANNELS, "tcg")
    assert [word for word in words if word not in plain] == [
        "if=none,id=vdd,file=/v/images.tar,format=raw,readonly=on",
        "virtio-blk-pci,drive=vdd,addr=10",
    ]


def test_ports_are_numbered_siblings() -> None:
    assert [port_name(number) for number in range(3)] == ["flexlet.exec", "flexlet.exec.1", "flexlet.exec.2"]
