"""The fields by which pods can be selected."""

from collections.abc import Mapping

from flexlet.apiserver.contract.kind import Object


def selectable_fields(pod: Object) -> Mapping[str, str]:
    """Node, policies, account and phase, as strings."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    addresses = status.get("podIPs") or ()
    first = addresses[0].get("ip", "") if addresses else ""
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        # The name of nodeName before v1.
        "spec.host": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": first,
        # A known field that upstream never fills.
        "status.podIPs": "",
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }
