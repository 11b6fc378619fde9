"""FlexletConfig: what an operator decides about all virtual machines of a cluster, under KubeVirt's keys."""

from typing import Any, Final, Literal

from flexlet.api import decode
from flexlet.api.meta import KubeStruct
from flexlet.api.quantity import Quantity
from flexlet.core.vm import names
from flexlet.core.vm.settings import Settings
from flexlet.errors import ConfigError, InputError

KIND: Final = "FlexletConfig"
_MOST_SOCKETS: Final = 512


class LiveUpdate(KubeStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far machines may grow that do not say so themselves."""

    max_hotplug_ratio: int = 4
    max_cpu_sockets: int = 0
    max_guest: Quantity | None = None


class FlexletConfig(KubeStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document; absent keys mean the defaults."""

    api_version: str = names.API_VERSION
    kind: str = KIND
    vm_rollout_strategy: Literal["LiveUpdate", "Stage"] = "LiveUpdate"
    live_update_configuration: LiveUpdate = LiveUpdate()
    cpu_allocation_ratio: int = 10
    memory_overcommit: int = 100
    additional_guest_memory_overhead_ratio: str = ""
    """KubeVirt writes this number as text."""
    launcher_image: str = ""


def read(document: Any, source: str) -> Settings:
    """The settings of a document.

    Raises:
        ConfigError: it is of another kind, or names what is not known or cannot be.
    """
    try:
        config = decode.from_value(document or {}, FlexletConfig)
    except InputError as error:
        raise ConfigError(f"{source}: {error}") from error
    complaint = _complaint(config)
    if complaint:
        raise ConfigError(f"{source}: {complaint}")
    update, most = config.live_update_configuration, config.live_update_configuration.max_guest
    defaults = Settings()
    return Settings(
        rollout_strategy=config.vm_rollout_strategy,
        max_hotplug_ratio=update.max_hotplug_ratio,
        max_cpu_sockets=update.max_cpu_sockets,
        max_guest=most.value if most is not None else 0,
        cpu_allocation_ratio=config.cpu_allocation_ratio,
        memory_overcommit=config.memory_overcommit,
        overhead_ratio=_ratio(config),
        image=config.launcher_image or defaults.image,
    )


def _complaint(config: FlexletConfig) -> str:
    update = config.live_update_configuration
    if (config.api_version, config.kind) != (names.API_VERSION, KIND):
        return f"it is a {config.kind} of {config.api_version}, not a {KIND} of {names.API_VERSION}"
    if update.max_hotplug_ratio < 1:
        return "liveUpdateConfiguration.maxHotplugRatio must be 1 or more"
    if not 0 <= update.max_cpu_sockets <= _MOST_SOCKETS:
        return f"liveUpdateConfiguration.maxCpuSockets must be between 0 and {_MOST_SOCKETS}"
    if config.cpu_allocation_ratio < 1:
        return "cpuAllocationRatio must be 1 or more"
    if config.memory_overcommit < 1:
        return "memoryOvercommit is a percentage, 100 or so"
    return "" if _ratio(config) >= 1 else "additionalGuestMemoryOverheadRatio must be a number of 1 or more"


def _ratio(config: FlexletConfig) -> float:
    text = config.additional_guest_memory_overhead_ratio
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
