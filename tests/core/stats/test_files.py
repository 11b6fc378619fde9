"""The kernel's texts as values; what a kernel lacks is unknown."""

import pytest
from tests.core.stats import node

from flexlet.core.stats import cgroupfiles, procfiles
from flexlet.core.stats.cgroupfiles import DeviceIo, Pressure, PressureData
from flexlet.core.stats.procfiles import InterfaceUse


def test_flat_keyed_files_keep_what_they_can_say() -> None:
    assert cgroupfiles.flat_keyed("a 1\nb 2 3\nc\nd -1\n") == {"a": 1}


@pytest.mark.parametrize(("text", "expected"), [("12", 12), ("12\n", 12), ("max", None), ("", None), (None, None)])
def test_amounts(text: str | None, expected: int | None) -> None:
    assert cgroupfiles.amount(text) == expected


def test_pressure() -> None:
    assert cgroupfiles.pressure(node.PSI) == Pressure(
        full=PressureData(total=1000), some=PressureData(total=3000, avg10=1.5, avg60=0.2)
    )


def test_kernels_without_full_cpu_pressure_and_without_any() -> None:
    """Before 5.13 cpu.pressure had no full line; without CONFIG_PSI there is no file."""
    only_some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"
    assert cgroupfiles.pressure(only_some) == Pressure(some=PressureData(total=5))
    assert cgroupfiles.pressure(None) is None
    assert cgroupfiles.pressure("") is None


def test_devices_without_traffic_are_left_out() -> None:
    assert cgroupfiles.devices(node.FILES["io.stat"]) == (DeviceIo("254:0", 4096, 8192, 1, 2),)


def test_interfaces_of_others_are_left_out() -> None:
    assert procfiles.interfaces(node.NET) == (
        InterfaceUse(
            name="eth0",
            rx_bytes=2000,
            rx_packets=20,
            rx_errors=1,
            rx_dropped=2,
            tx_bytes=3000,
            tx_packets=30,
            tx_errors=3,
            tx_dropped=4,
        ),
    )


def test_meminfo_is_in_bytes() -> None:
    assert procfiles.meminfo(node.MEMINFO) == {
        "MemTotal": 2_048_000_000,
        "MemFree": 512_000_000,
        "SwapTotal": 0,
        "SwapFree": 0,
        "HugePages_Total": 0,
    }


def test_tasks_and_boot_time() -> None:
    assert procfiles.tasks("1.36 3.49 4.53 2/3518 3715089\n") == 3518
    assert procfiles.tasks("nonsense") is None
    assert procfiles.max_tasks({"pid_max": "4194304\n", "threads-max": "63000\n"}) == 63000
    assert procfiles.max_tasks({}) is None
    assert procfiles.boot_time("cpu 1 2\nbtime 1700000000\n") == 1_700_000_000
    assert procfiles.boot_time("cpu 1 2\n") is None
