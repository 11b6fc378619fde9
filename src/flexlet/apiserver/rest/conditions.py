"""Conditions of pods, as the server itself sets them."""

from flexlet.apiserver.contract.kind import Object


def set_condition(state: Object, condition: Object, now: str) -> None:
    """Add or replace the condition of that type; the time changes only with the status."""
    conditions = state.setdefault("conditions", [])
    old = next((item for item in conditions if item.get("type") == condition["type"]), None)
    changed = old is None or old.get("status") != condition["status"]
    since = now if changed or old is None else old.get("lastTransitionTime")
    new = {"lastProbeTime": None, "lastTransitionTime": since, **condition}
    if old is None:
        conditions.append(new)
    else:
        conditions[conditions.index(old)] = new
