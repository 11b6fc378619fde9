"""Keeps one Node in the API true to one machine.

What the API says arrives by `fold`, what the node knows of itself by `learn`; both have one owner, the loop's
task. Registration: the Node is created unless it exists; a Node that was seen and then deleted stays deleted until
the agent is started again, as with the kubelet, because whoever deletes a Node wants the machine gone.

Feeds: nodes with ``metadata.name=NAME`` and nothing else, which is what a node may watch.
"""

from typing import Any

import msgspec

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, LookUp, PatchObject, RecordEvent
from flexlet.core.machine import difference
from flexlet.core.node import closing, events, patch, registration
from flexlet.core.node.conditions import Conditions
from flexlet.core.node.facts import NodeFacts
from flexlet.core.node.heartbeat import Heartbeat
from flexlet.core.node.lease import OwnLease
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import status
from flexlet.core.node.veto import AMOUNTS, REJECTED, Veto
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.refs import LEASES, NODES

Object = dict[str, Any]


class NodeDecider:
    """Registers a node, reports its status and renews its Lease."""

    name = "node"

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._facts: NodeFacts | None = None
        self._node: Object | None = None
        self._registered = False
        self._corrected = False
        self._attempt = registration.Attempt()
        self._unschedulable = False
        self._shutting_down = False
        self._told: set[str] = set()
        self._announced: set[str] = set()
        self._heartbeat = Heartbeat(settings)
        self._door = closing.Door()
        self._veto = Veto()
        self._lease = OwnLease(settings.name, settings.lease_s)

    @property
    def uid(self) -> str:
        """The Node's uid, empty while there is no Node."""
        return "" if self._node is None else str(self._node["metadata"].get("uid", ""))

    @property
    def pod_cidrs(self) -> tuple[str, ...]:
        """The ranges of addresses that the cluster gave to this node's pods."""
        return () if self._node is None else tuple(self._node.get("spec", {}).get("podCIDRs") or ())

    @property
    def published(self) -> Object | None:
        """The Node as the API has it."""
        return self._node

    def shows(self, generation: int) -> bool:
        """Whether the cluster knows the size of this generation, or has refused it."""
        notes = {} if self._node is None else self._node["metadata"].get("annotations") or {}
        return notes.get(registration.GENERATION_ANNOTATION) == str(generation)

    def learn(self, facts: NodeFacts) -> bool:
        """The node has looked at itself; whether that is worth deciding at once."""
        urgent = self._facts is None or _cannot_wait(self._facts, facts)
        self._facts = facts
        if urgent:
            self._heartbeat.hurry()
        return urgent

    def fold(self, observation: Observation) -> None:
        """Learn one thing from the API."""
        match observation:
            case Seen(ref=ref, raw=raw) if ref == NODES:
                self._seen(msgspec.json.decode(raw))
            case Seen(ref=ref) if ref == LEASES:
                self._lease.renewed()
            case Vanished(ref=ref, name=name) if ref == NODES and name == self._settings.name:
                self._node = None
            case Failed(action=CreateObject(ref=ref)) if ref == NODES:
                self._attempt.failed(observation.code)
                self._not_arrived()
            case Failed(action=action) if closing.is_ours(action):
                self._door.refused(observation.code)
            case Failed(action=PatchObject(ref=ref)) if ref == NODES:
                self._veto.failed(observation.code, observation.message)
                self._not_arrived()
            case Failed(action=CreateObject(ref=ref) | PatchObject(ref=ref)) if ref == LEASES:
                self._lease.failed(observation)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """Register, report, renew; nothing before the node knows itself."""
        if self._facts is None:
            return ApiPlan()
        told = self._once(events.starting(self._settings.name))
        told += self._measures(self._facts)
        if self._node is None:
            actions, wake_at = self._register(self._facts, now)
            return ApiPlan((*told, *actions), wake_at=wake_at)
        actions = self._report(self._node, self._facts, now)
        actions += self._lease.decide(self.uid, now)
        return ApiPlan((*told, *actions), wake_at=min(self._heartbeat.due, self._lease.due or now))

    def _seen(self, node: Object) -> None:
        if node["metadata"].get("name") != self._settings.name:
            return
        self._node = node
        self._registered = True
        self._announced.clear()
        self._heartbeat.arrived()
        self._veto.arrived()
        if self._door.must_hurry():
            self._heartbeat.hurry()

    def _not_arrived(self) -> None:
        self._corrected = False
        self._heartbeat.failed()

    def _register(self, facts: NodeFacts, now: float) -> tuple[list[ApiAction], float | None]:
        if self._registered or not self._settings.register:
            return [], None
        if self._attempt.must_look(now):
            return [LookUp(ref=NODES, name=self._settings.name)], None
        if now < self._attempt.due:
            return [], self._attempt.due
        wanted, found = status({}, self._settings, facts, now)
        self._corrected = True
        self._heartbeat.computed(now)
        self._heartbeat.reported(now, changed=True)
        body = registration.node(self._settings, facts, wanted)
        return [CreateObject(ref=NODES, body=body), *self._news(found.news)], None

    def _report(self, node: Object, facts: NodeFacts, now: float) -> list[ApiAction]:
        if now < self._heartbeat.due:
            return []
        old = node.get("status", {})
        new, found = self._status(old, facts, now)
        first = not self._corrected
        metadata = registration.corrections(node["metadata"], self._settings, facts, new, first=first)
        changed = patch.changes(old, new)
        told = [*self._news(found.news), *self._schedulable(node), *self._boot(old, facts)]
        # The door first: it may be written only while nobody else has written, and a report is a write.
        door = self._close(node, facts)
        self._heartbeat.computed(now)
        if not changed and not metadata and not self._heartbeat.must_report(now):
            return [*door, *told]
        self._corrected = True
        self._veto.sending(changed, new)
        self._heartbeat.reported(now, changed=bool(changed or metadata))
        body: Object = {"status": changed | {"conditions": patch.heartbeat(old, new)}}
        body |= {"metadata": metadata} if metadata else {}
        sent = PatchObject(ref=NODES, name=self._settings.name, patch=body, kind="strategic", subresource="status")
        return [*door, sent, *told]

    def _status(self, old: Object, facts: NodeFacts, now: float) -> tuple[Object, Conditions]:
        """The status as it should be, with the old size if the cluster refused the new one."""
        new, found = status(old, self._settings, facts, now)
        if facts.resizing is None or not self._veto.holds(old, new, now):
            return new, found
        refused = msgspec.structs.replace(facts.resizing, reason=REJECTED, message=self._veto.message)
        new, found = status(old, self._settings, msgspec.structs.replace(facts, resizing=refused), now)
        return new | {name: old[name] for name in AMOUNTS}, found

    def _close(self, node: Object, facts: NodeFacts) -> list[ApiAction]:
        closed = facts.resizing is not None and facts.resizing.closed
        patched = self._door.decide(node, closed=closed)
        return [] if patched is None else [patched]

    def _measures(self, facts: NodeFacts) -> list[ApiAction]:
        """What is told about the machine, apart from conditions."""
        name = self._settings.name
        told: list[ApiAction] = []
        if facts.image_capacity == 0:
            told += self._once(events.invalid_disk_capacity(name))
        if facts.enforcement is not None:
            told += self._once(events.allocatable_enforced(name, facts.enforcement))
        if facts.shutting_down != self._shutting_down:
            self._shutting_down = facts.shutting_down
            told.append(events.shutdown(name, facts.shutting_down))
        return told

    def _news(self, reasons: tuple[str, ...]) -> list[ApiAction]:
        """Once, even if the report that says the same has to be sent again."""
        fresh = [reason for reason in reasons if reason not in self._announced]
        self._announced.update(fresh)
        return [events.status_is_now(self._settings.name, reason) for reason in fresh]

    def _schedulable(self, node: Object) -> list[ApiAction]:
        cordoned = bool(node.get("spec", {}).get("unschedulable"))
        if cordoned == self._unschedulable:
            return []
        self._unschedulable = cordoned
        return self._news(("NodeNotSchedulable" if cordoned else "NodeSchedulable",))

    def _boot(self, old: Object, facts: NodeFacts) -> list[ApiAction]:
        before, boot_id = old.get("nodeInfo", {}).get("bootID", ""), facts.machine.identity.boot_id
        return self._once(events.rebooted(self._settings.name, boot_id)) if before not in ("", boot_id) else []

    def _once(self, event: RecordEvent) -> list[ApiAction]:
        if event.message in self._told:
            return []
        self._told.add(event.message)
        return [event]


def _cannot_wait(old: NodeFacts, new: NodeFacts) -> bool:
    """Whether the cluster should know at once: room came or went, or the node became ready or is going down."""
    return (
        old.pressures != new.pressures
        or old.shutting_down != new.shutting_down
        or old.enforcement != new.enforcement
        or old.resizing != new.resizing
        or _is_well(new) > _is_well(old)
        or (old.machine is not new.machine and difference.key(old.machine) != difference.key(new.machine))
    )


def _is_well(facts: NodeFacts) -> bool:
    if facts.problems or facts.runtime is None or facts.runtime_ready_at is None:
        return False
    return all(facts.runtime.condition(name).status for name in ("RuntimeReady", "NetworkReady"))
