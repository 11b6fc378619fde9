import pytest
from tests.pods import container

from flexlet.api.units import GIB, MIB, Bytes
from flexlet.core.cgroups import memoryqos
from flexlet.core.cgroups.settings import NO_RESERVATION, TIERED_RESERVATION, CgroupSettings, Host
from flexlet.core.resources.qos import BURSTABLE, GUARANTEED

HOST = Host(memory=Bytes(16 * GIB), allocatable_memory=Bytes(8 * GIB))
TIERED = CgroupSettings(memory_qos=True, memory_reservation_policy=TIERED_RESERVATION)
UNRESERVED = CgroupSettings(memory_qos=True, memory_reservation_policy=NO_RESERVATION)
ZEROS = {"memory.min": "0", "memory.low": "0"}


@pytest.mark.parametrize(
    ("request_bytes", "ceiling", "high"),
    [
        (128 * MIB, 256 * MIB, 255012864),
        (100 * MIB, 200 * MIB, 199229440),
        (512 * MIB, 8 * GIB, 7784628224),
        (0, 8 * GIB, 7730937856),
        (64 * MIB, 65 * MIB, 68050944),
        (64 * MIB, 0, 0),
    ],
)
def test_where_throttling_begins(request_bytes: int, ceiling: int, high: int) -> None:
    """Nine tenths of the way from request to limit, on a page boundary."""
    assert memoryqos.memory_high(request_bytes, ceiling, 0.9) == high


@pytest.mark.parametrize(
    ("qos", "requests", "limits", "settings", "files"),
    [
        (BURSTABLE, ",128Mi", ",256Mi", CgroupSettings(), {}),
        (BURSTABLE, ",128Mi", ",256Mi", UNRESERVED, ZEROS | {"memory.high": "255012864"}),
        (BURSTABLE, ",128Mi", ",256Mi", TIERED, {"memory.low": str(128 * MIB), "memory.high": "255012864"}),
        (GUARANTEED, ",128Mi", ",128Mi", TIERED, {"memory.min": str(128 * MIB)}),
        (BURSTABLE, ",512Mi", "", UNRESERVED, ZEROS | {"memory.high": "7784628224"}),
        (BURSTABLE, "", ",1Gi", TIERED, ZEROS | {"memory.high": "966365184"}),
        (BURSTABLE, "", "", TIERED, ZEROS),
        (BURSTABLE, ",8Gi", "", UNRESERVED, ZEROS),
    ],
)
def test_containers(qos: str, requests: str, limits: str, settings: CgroupSettings, files: dict[str, str]) -> None:
    """Request and limit must differ, and throttling must begin above the request."""
    assert memoryqos.container_files(qos, container("a", requests, limits), HOST, settings) == files
