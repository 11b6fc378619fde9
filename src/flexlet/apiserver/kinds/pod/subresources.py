"""The other paths on which a pod is written: ``status``, ``resize``, ``ephemeralcontainers``."""

from collections.abc import Mapping
from typing import Final

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object, UpdateStrategy
from flexlet.apiserver.kinds.pod.disabled import drop_disabled_spec, drop_disabled_status
from flexlet.apiserver.kinds.pod.ephemeral import validate_ephemeral_update
from flexlet.apiserver.kinds.pod.oddaddresses import spelling_warnings
from flexlet.apiserver.kinds.pod.resize import keep_only_sizes, validate_resize
from flexlet.apiserver.kinds.pod.scope import rules_after, rules_of
from flexlet.apiserver.kinds.pod.statusupdate import keep_only_status, validate_status_update
from flexlet.apiserver.kinds.pod.strategy import count_generation

# What a write to such a path may not touch; the rest of metadata is the caller's or the server's.
_KEPT_METADATA: Final = (
    "deletionTimestamp",
    "generation",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)


def keep_metadata(pod: Object, old: Object) -> None:
    """Put back the metadata that only the main path may change."""
    meta, before = pod["metadata"], old["metadata"]
    for key in _KEPT_METADATA:
        if key in before:
            meta[key] = before[key]
        else:
            meta.pop(key, None)


class PodStatusUpdate(UpdateStrategy):
    """The node's reports."""

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Only status, labels and annotations are taken."""
        keep_only_status(obj, old)
        drop_disabled_spec(obj["spec"], old["spec"], self._gates)
        drop_disabled_status(obj["status"], old, self._gates)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """What a status may say and how it may change."""
        return validate_status_update(obj, old)

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Oddly spelled addresses."""
        del old
        return [
            text
            for key in ("podIPs", "hostIPs")
            for i, entry in enumerate((obj.get("status") or {}).get(key) or ())
            for text in spelling_warnings(f"status.{key}[{i}].ip", entry.get("ip") or "")
        ]


class PodResize(UpdateStrategy):
    """Sizes of a pod that may be running."""

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._rules = rules_of(gates)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Only sizes are taken, unless the set of containers differs: then validation says so."""
        spec = keep_only_sizes(
            obj["spec"], old["spec"], pod_level=self._gates["InPlacePodLevelResourcesVerticalScaling"]
        )
        if spec is not obj["spec"]:
            obj["spec"] = spec
            obj["status"] = old.get("status") or {}
            keep_metadata(obj, old)
        drop_disabled_spec(obj["spec"], old["spec"], self._gates)
        count_generation(obj, old)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Only cpu and memory, within the same QoS class."""
        return validate_resize(obj, old, rules_after(self._rules, old["spec"]), self._gates)


class PodEphemeralContainers(UpdateStrategy):
    """Containers for looking around."""

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._rules = rules_of(gates)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Only ephemeral containers are taken."""
        added = obj["spec"].get("ephemeralContainers")
        obj["spec"] = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
        if added:
            obj["spec"]["ephemeralContainers"] = added
        obj["status"] = old.get("status") or {}
        keep_metadata(obj, old)
        drop_disabled_spec(obj["spec"], old["spec"], self._gates)
        count_generation(obj, old)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Additions only."""
        return validate_ephemeral_update(obj, old, rules_after(self._rules, old["spec"]))
