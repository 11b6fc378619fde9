"""Where flexlet knowingly does not do what the recorded kubelet did; see ``docs/differences.md``.

Each rule recognises one difference by its cause, not by its place in a recording, so that anything else still
shows.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from flexlet.api.quantity import Quantity
from flexlet.core.cgroups import cpu

Json = Mapping[str, Any]

_POD_RESOURCES: Final = re.compile(r"resources\.(requests|limits)(?:\.(\w+))?: ")
_LEAST_LIMIT_MILLI: Final = 10

NOT_OURS: Final = {
    ("hotplug", "g", 9): "a running pod is not admitted again when the agent restarts, hence never refused",
    ("hotplug", "g", 10): "as before",
    ("resize-superseded", "p", 14): "a race in the kubelet: the resize of generation 6 told with generation 5",
    (
        "resize-terminated",
        "q",
        6,
    ): "a container that has ended is resized: how the cgroup reads is not recorded",
}
"""Entries that are never rendered so: life, pod and number."""


def accepts(difference: str, recorded: Json, rendered: Json) -> bool:
    """Whether a difference between two statuses is one we want: `status.resources` says what was asked."""
    found = _POD_RESOURCES.match(difference)
    if found is None:
        return False
    if found[1] == "limits":
        return _has_unlimited(rendered) or _is_below_what_the_kernel_knows(rendered)
    if found[2] == "memory":
        return bool(rendered["resources"]["requests"]["memory"] == rendered["allocatedResources"]["memory"])
    asked = rendered["resources"]["requests"]["cpu"]
    said = recorded["resources"].get("requests", {}).get("cpu")
    return said == read_back(asked) or (said is None and rendered["phase"] in ("Succeeded", "Failed"))


def accepts_file(cgroup: str, file: str, recorded: str, read: str | None) -> bool:
    """Whether a cgroup's file may read differently.

    An update leaves the weight of a container without a cpu request alone; 1.36.3 lets it drop to 1.
    """
    return file == "cpu.weight" and cgroup not in (".", "sandbox") and recorded == "1" and read not in (None, "1")


def _has_unlimited(status: Json) -> bool:
    """1.36.3 keeps the limits that a pod with an unlimited container had at its start."""
    return any(
        {"cpu", "memory"} - each.get("resources", {}).get("limits", {}).keys()
        for each in status["containerStatuses"]
    )


def _is_below_what_the_kernel_knows(status: Json) -> bool:
    limit = status["resources"].get("limits", {}).get("cpu")
    return limit is not None and Quantity.parse(limit).milli <= _LEAST_LIMIT_MILLI


def read_back(amount: str) -> str | None:
    """How 1.36.3 reads a request from the weight that was written for it; the least weight is no request."""
    weight = cpu.linear_weight(cpu.shares(Quantity.parse(amount).milli))
    milli = cpu.milli_of_shares(cpu.shares_of_weight(weight))
    return None if weight == 1 else str(Quantity.of_milli(milli))
