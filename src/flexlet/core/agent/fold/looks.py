"""What the runtime and the kernel show of a pod."""

from typing import Final

from msgspec.structs import replace

from flexlet.core.agent.observations import Shown
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.shown import READY

_BY_ID: Final = frozenset({"stop", "remove", "hook"})
"""Kinds of deeds that are about one run or sandbox, whose names never come back."""


def shown(record: PodRecord, look: Shown, setup: NodeSetup) -> PodRecord:
    """The record with the view in it, unless a newer one is there already."""
    if record.shown is not None and look.order < record.order:
        return record
    alive = {run.id for run in look.pod.containers}
    sandboxes = {each.id for each in look.pod.sandboxes}
    return replace(
        record,
        shown=look.pod,
        order=look.order,
        stale=False,
        unverified=False,
        has_cgroup=look.has_cgroup,
        cgroup=look.cgroup,
        usage=look.usage or record.usage,
        messages=look.messages,
        ips=_ips(record, look, setup),
        doomed={key: why for key, why in record.doomed.items() if key in alive},
        replaced=record.replaced & alive,
        hooked=record.hooked & alive,
        stops={key: at for key, at in record.stops.items() if key in alive},
        stopped_sandboxes=record.stopped_sandboxes & sandboxes,
        retries={key: wait for key, wait in record.retries.items() if _is_about(key, alive | sandboxes)},
    )


def _is_about(key: str, there: set[str]) -> bool:
    """Whether a key is about something that is there, or about no run or sandbox at all."""
    kind, _, subject = key.partition("/")
    return kind not in _BY_ID or subject in there


def _ips(record: PodRecord, look: Shown, setup: NodeSetup) -> tuple[str, ...]:
    """The addresses of the present sandbox; a pod without one keeps those it had."""
    if record.pod.spec.host_network:
        return setup.ips
    newest = look.pod.sandboxes[0] if look.pod.sandboxes else None
    if newest is not None and newest.state == READY and newest.ips:
        return newest.ips
    return record.ips or tuple(each.ip for each in record.pod.status.pod_ips)
