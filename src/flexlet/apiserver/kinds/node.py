"""Nodes: the main path keeps status, ``/status`` keeps spec; labels and annotations change on both."""

import re
from typing import Any, Final

from flexlet.api import addresses, fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, resourcelists
from flexlet.apiserver.kinds.strategy import KindStrategy, StatusStrategy, age_of, keep, name_of
from flexlet.apiserver.kinds.taints import check_taints
from flexlet.core.resources.rounding import round_list

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*", re.ASCII)
_ONCE: Final = 'node updates may not change {0} except from "" to valid'


class NodeStrategy(KindStrategy):
    """The main path."""

    type_name = "core.v1.Node"
    namespaced = False

    def fill(self, obj: Object) -> None:
        """Amounts are canonical, allocatable is capacity unless said, and podCIDR is the first of podCIDRs."""
        status, spec = obj["status"], obj["spec"]
        for key in ("capacity", "allocatable"):
            round_list(status.get(key, {}), f"$.status.{key}")
        if "allocatable" not in status and status.get("capacity"):
            status["allocatable"] = dict(status["capacity"])
        single, several = spec.get("podCIDR"), spec.get("podCIDRs")
        if single and (not several or several[0] != single):
            spec["podCIDRs"] = [single]
        elif several:
            spec["podCIDR"] = several[0]

    def prepare_create(self, obj: Object) -> None:
        """Dynamic kubelet configuration is gone."""
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Status has its own path."""
        keep(obj, old, "status")
        if "configSource" not in old.get("spec", {}):
            obj["spec"].pop("configSource", None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The rules of a node, then those of its change."""
        return [*self.validate(obj), *validate_change(obj, old)]

    def check(self, obj: Object) -> list[FieldError]:
        """Taints, amounts, features, networks."""
        swap = obj["status"]["nodeInfo"].get("swap", {}).get("capacity", 1)
        errors = check_taints(obj["spec"].get("taints", ()), "metadata.taints")
        errors += _check_amounts(obj["status"])
        if swap <= 0:
            text = "must be greater than zero"
            errors.append(fielderrors.invalid("metadata.nodeSwapStatus.capacity", swap, text))
        errors += _check_features(obj["status"].get("declaredFeatures", ()))
        return errors + _check_networks(obj["spec"].get("podCIDRs", []))

    def warnings(self, obj: Object) -> list[str]:
        """Fields that do nothing."""
        unused = "spec.externalID: this field is deprecated, and is unused by Kubernetes"
        found = [unused] if obj["spec"].get("externalID") else []
        return ["spec.configSource: the feature is removed", *found] if obj["spec"].get("configSource") else found

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """As on create."""
        del old
        return self.warnings(obj)

    def fields(self, obj: Object) -> dict[str, str]:
        """Cordoned nodes can be found."""
        return {"spec.unschedulable": "true" if obj.get("spec", {}).get("unschedulable") else "false"}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """Readiness, roles, version, and where and what it is."""
        info = obj["status"].get("nodeInfo", {})
        kernel = info.get("kernelVersion") or "<unknown>"
        architecture = info.get("architecture")
        return [
            name_of(obj),
            _readiness(obj),
            ",".join(_roles(obj["metadata"].get("labels", {}))) or "<none>",
            age_of(obj, now),
            info.get("kubeletVersion", ""),
            _address(obj, "InternalIP"),
            _address(obj, "ExternalIP"),
            info.get("osImage") or "<unknown>",
            f"{kernel} ({architecture})" if architecture else kernel,
            info.get("containerRuntimeVersion") or "<unknown>",
        ]


class NodeStatusStrategy(StatusStrategy):
    """``/status``: what the node reports of itself."""

    def prepare_update(self, obj: Object, old: Object) -> None:
        """The spec is not the node's."""
        keep(obj, old, "spec")
        if "config" not in old.get("status", {}):
            obj["status"].pop("config", None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Only the change is looked at."""
        return validate_change(obj, old)


def validate_change(obj: Object, old: Object) -> list[FieldError]:
    """What is wrong with a change, on either path; what is set once stays."""
    spec, before = obj["spec"], old.get("spec", {})
    errors = metadata.validate_update(obj, old)
    errors += _check_amounts(obj["status"])
    errors += _check_features(obj["status"].get("declaredFeatures", ()))
    errors += _check_addresses(obj["status"].get("addresses", ()))
    errors += _check_networks_kept(spec.get("podCIDRs", []), before.get("podCIDRs", []))
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        errors.append(fielderrors.forbidden("spec.providerID", _ONCE.format("providerID")))
    errors += check_taints(spec.get("taints", ()), "metadata.taints")
    if spec.get("externalID") != before.get("externalID"):
        errors.append(fielderrors.forbidden("spec.externalID", "may not be updated"))
    return errors


def _check_amounts(status: Object) -> list[FieldError]:
    return [
        error
        for key in ("capacity", "allocatable")
        for name, amount in status.get(key, {}).items()
        for error in resourcelists.check_amount(name, amount, f"status.{key}.{name}")
    ]


def _check_features(features: list[str]) -> list[FieldError]:
    errors = []
    for index, feature in enumerate(features):
        field = f"status.declaredFeatures[{index}]"
        errors += [fielderrors.invalid(field, feature, text) for text in _feature_complaints(feature)]
        if index and feature == features[index - 1]:
            errors.append(fielderrors.duplicate(field, feature))
        elif index and feature < features[index - 1]:
            errors.append(fielderrors.invalid(field, feature, "list must be sorted alphabetically"))
    return errors


def _feature_complaints(feature: str) -> list[str]:
    if len(feature) > names.MAX_SUBDOMAIN:
        return [f'invalid feature name "{feature}": must be no more than {names.MAX_SUBDOMAIN} characters']
    if _FEATURE.fullmatch(feature):
        return []
    text = (
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
        "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    )
    return [f'invalid feature name "{feature}": {text}']


def _check_addresses(found: list[Object]) -> list[FieldError]:
    seen: set[tuple[str, str]] = set()
    errors = []
    for index, address in enumerate(found):
        key = address.get("type", ""), address.get("address", "")
        if key in seen:
            shown = {"Type": key[0], "Address": key[1]}
            errors.append(fielderrors.duplicate(f"status.addresses[{index}]", shown))
        seen.add(key)
    return errors


def _check_networks(networks: list[str]) -> list[FieldError]:
    errors = [
        fielderrors.invalid(f"spec.podCIDRs[{index}]", network, complaint)
        for index, network in enumerate(networks)
        for complaint in addresses.legacy_cidr(network)
    ]
    families = {":" in network for network in networks}
    if len(networks) > len(families) and not errors:
        text = "may specify no more than one CIDR for each IP family"
        errors.append(fielderrors.invalid("spec.podCIDRs", networks, text))
    return errors


def _check_networks_kept(networks: list[str], before: list[str]) -> list[FieldError]:
    refused = fielderrors.forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))
    if not before:
        return []
    if len(before) != len(networks):
        return [refused]
    return [refused for one, other in zip(before, networks, strict=True) if one != other]


def _readiness(obj: Object) -> str:
    conditions = obj["status"].get("conditions", ())
    ready = next((entry.get("status") for entry in reversed(conditions) if entry.get("type") == "Ready"), None)
    text = {None: "Unknown", "True": "Ready"}.get(ready, "NotReady")
    return f"{text},SchedulingDisabled" if obj["spec"].get("unschedulable") else text


def _roles(labels: dict[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted(roles | {labels.get(_ROLE_LABEL, "")} - {""})


def _address(obj: Object, kind: str) -> str:
    found = (entry.get("address", "") for entry in obj["status"].get("addresses", ()) if entry.get("type") == kind)
    return next(found, "<none>")


NODE: Final = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    singular="node",
    namespaced=False,
    short_names=("no",),
    schema="core.v1.Node",
    strategy=NodeStrategy(),
    subresources=(
        Subresource(name="proxy", verbs=("create", "delete", "get", "patch", "update"), kind="NodeProxyOptions"),
        Subresource(name="status", verbs=("get", "patch", "update"), update=NodeStatusStrategy()),
    ),
)
