"""What flexlet does not do, field by field, and what to do instead.

A field in `REFUSED` may be there with a value that asks for nothing (kubeadm writes many zeroes) or for what
flexlet does anyway; every other value is a problem. `REFUSED_VALUES` are values of fields that flexlet has.
A feature that is built later loses its line here. `IDLE` are the fields that the kubelet 1.36.3 itself reads and
does nothing with.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import duration
from flexlet.errors import InputError


class Refusal(msgspec.Struct, frozen=True):
    """Why a field is not there; `fine` are values that are no harm, besides empty ones if `empty` is."""

    remedy: str
    fine: tuple[Any, ...] = ()
    empty: bool = True


IDLE: Final = frozenset(
    {
        "enableDebugFlagsHandler",  # neither is served here; off is what happens, on is only the default
        "enableProfilingHandler",
        "hairpinMode",
        "iptablesDropBit",
        "iptablesMasqueradeBit",
        "logging.flushFrequency",  # nothing is held back, so there is nothing to flush
        "makeIPTablesUtilChains",  # a hint for others; flexlet writes no packet filter rules
        "streamingConnectionIdleTimeout",
    }
)

_BY_FILES: Final = "static pods are read from files; put them under staticPodPath"

REFUSED: Final[Mapping[str, Refusal]] = {
    "configMapAndSecretChangeDetectionStrategy": Refusal(
        "ConfigMaps and Secrets are followed by watches; remove it", ("Watch",)
    ),
    "containerLogMaxWorkers": Refusal("logs are rotated one after the other; remove it", (1,)),
    "contentType": Refusal(
        "flexlet speaks JSON; remove it", ("application/json", "application/vnd.kubernetes.protobuf")
    ),
    "enableContentionProfiling": Refusal("there is no Go runtime to profile; remove it"),
    "enableControllerAttachDetach": Refusal(
        "volumes are attached by the control plane's controller; remove it", (True,), empty=False
    ),
    "enableSystemLogQuery": Refusal("the journal cannot be queried through the node; remove it"),
    "failCgroupV1": Refusal(
        "flexlet needs cgroup v2; remove it and boot the unified hierarchy", (True,), empty=False
    ),
    "httpCheckFrequency": Refusal(_BY_FILES, ("20s",)),
    "imagePullCredentialsVerificationPolicy": Refusal(
        "images that are on the node are not checked again for who may use them; set NeverVerify, "
        "or use imagePullPolicy Always",
        ("NeverVerify",),
    ),
    "kernelMemcgNotification": Refusal("memory is watched without it; remove it"),
    "kubeletCgroups": Refusal("start flexlet in the wanted cgroup (Slice= of its systemd unit) and remove it"),
    "localStorageCapacityIsolation": Refusal("local storage is always measured; remove it", (True,), empty=False),
    "logging.options": Refusal("log options do not exist here; remove it"),
    "logging.vmodule": Refusal("verbosity is the same for all modules; use logging.verbosity"),
    "maxOpenFiles": Refusal("set LimitNOFILE= in flexlet's systemd unit and remove it", (1000000,)),
    "preloadedImagesVerificationAllowlist": Refusal("see imagePullCredentialsVerificationPolicy; remove it"),
    "protectKernelDefaults": Refusal("flexlet changes no kernel settings; check them with sysctl and remove it"),
    "qosReserved": Refusal("QoS classes get no memory limit of their own; remove it"),
    "readOnlyPort": Refusal("there is no port without authentication; use port, and remove it"),
    "runOnce": Refusal("the kubelet dropped this mode too; remove it"),
    "showHiddenMetricsForVersion": Refusal("no metrics are hidden; remove it"),
    "staticPodURL": Refusal(_BY_FILES),
    "staticPodURLHeader": Refusal(_BY_FILES),
    "syncFrequency": Refusal("flexlet acts on events and looks again by itself; remove it", ("1m",)),
    "systemCgroups": Refusal("processes outside of pods are left where they are; remove it"),
    "tlsCurvePreferences": Refusal("OpenSSL's order of curves is used; remove it"),
    "tracing": Refusal("there are no traces; remove it"),
    "userNamespaces": Refusal("user namespaces have their default size; remove it", ({"idsPerPod": 65536},)),
    "volumePluginDir": Refusal(
        "there are no FlexVolumes; remove it", ("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",)
    ),
    "volumeStatsAggPeriod": Refusal("volumes are measured when somebody asks; remove it", ("1m",)),
}

REFUSED_VALUES: Final[Mapping[str, Mapping[Any, str]]] = {
    "cgroupsPerQOS": {False: "pods are always kept in the cgroups of their QoS class; remove it"},
}


def is_harmless(refusal: Refusal, value: Any) -> bool:
    """Whether a value of a field that flexlet does not have changes nothing."""
    return (
        value is None or (refusal.empty and _is_empty(value)) or any(_same(value, each) for each in refusal.fine)
    )


def _is_empty(value: Any) -> bool:
    """Whether a value asks for nothing, however deep it is."""
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return value in (None, False, 0, "", "0", "0s") or _seconds(value) == 0


def _same(value: Any, wanted: Any) -> bool:
    if type(value) is type(wanted) and value == wanted:
        return True
    seconds = _seconds(wanted)
    return seconds is not None and _seconds(value) == seconds


def _seconds(value: Any) -> float | None:
    try:
        return duration.parse(value) if isinstance(value, str) else None
    except InputError:
        return None
