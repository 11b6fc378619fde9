"""A FlexletConfig file says the same as KubeVirt's configuration does."""

import pytest

from flexlet.api.units import GIB
from flexlet.core.vm import config
from flexlet.core.vm.settings import Settings
from flexlet.errors import ConfigError


def test_an_empty_file_means_the_defaults() -> None:
    assert config.read(None, "f") == Settings()
    assert config.read({"apiVersion": "vm.flexlet.io/v1alpha1", "kind": "FlexletConfig"}, "f") == Settings()


def test_every_key_has_its_place() -> None:
    document = {
        "vmRolloutStrategy": "Stage",
        "liveUpdateConfiguration": {"maxHotplugRatio": 2, "maxCpuSockets": 32, "maxGuest": "64Gi"},
        "cpuAllocationRatio": 4,
        "memoryOvercommit": 150,
        "additionalGuestMemoryOverheadRatio": "1.5",
        "launcherImage": "registry.example/launcher:1",
    }
    assert config.read(document, "f") == Settings(
        rollout_strategy="Stage",
        max_hotplug_ratio=2,
        max_cpu_sockets=32,
        max_guest=64 * GIB,
        cpu_allocation_ratio=4,
        memory_overcommit=150,
        overhead_ratio=1.5,
        image="registry.example/launcher:1",
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "KubeVirt"}, "f: it is a KubeVirt of vm.flexlet.io/v1alpha1, not a FlexletConfig of"),
        ({"vmRolloutStrategy": "Never"}, r"f: Invalid enum value 'Never' - at `\$.vmRolloutStrategy`"),
        ({"evictionStrategy": "None"}, "f: Object contains unknown field `evictionStrategy`"),
        ({"liveUpdateConfiguration": {"maxHotplugRatio": 0}}, "maxHotplugRatio must be 1 or more"),
        ({"liveUpdateConfiguration": {"maxCpuSockets": 513}}, "maxCpuSockets must be between 0 and 512"),
        ({"cpuAllocationRatio": 0}, "cpuAllocationRatio must be 1 or more"),
        ({"memoryOvercommit": 0}, "memoryOvercommit is a percentage, 100 or so"),
        ({"additionalGuestMemoryOverheadRatio": "much"}, "must be a number of 1 or more"),
    ],
)
def test_what_cannot_be_is_said(document: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.read(document, "f")
