"""One virtual machine, its pod and its launcher, moved by hand: the decider's plans are carried out when told.

`Bench.turn` asks the decider once and does what it says; the node and the guest answer only when a test lets them.
"""

from typing import Any

import msgspec

from flexlet.api.patch.merge import apply as merge_patch
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB
from flexlet.core.actions import ApiPlan, CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.nodesize.names import NODE_SIZES
from flexlet.core.observations import Failed, Seen, Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.vm import names
from flexlet.core.vm.decider import Launcher, VmDecider
from flexlet.core.vm.guest import Answer, AttachDevice, Report, SetSize
from flexlet.core.vm.picture import RESOURCE_QUOTAS
from flexlet.core.vm.settings import Settings

NOW = 1_800_000_000.0
KEY = "default/db"
POD = "virt-launcher-db"
Json = dict[str, Any]


def machine_spec(vcpus: int = 4, guest: str = "8Gi", **parts: Any) -> Json:
    """The VM of vm-resize.md §12; `parts` are merged into the domain, `policy` and `run` are beside it."""
    policy, run = parts.pop("policy", {}), parts.pop("run", {})
    domain: Json = {
        "cpu": {"sockets": vcpus, "maxSockets": 16},
        "memory": {"minGuest": "4Gi", "guest": guest, "maxGuest": "16Gi"},
        "devices": {"autoattachGraphicsDevice": True},
    }
    for key, more in parts.items():
        domain[key] = {**domain.get(key, {}), **more}
    return {"resizePolicy": policy, "template": {"spec": {"domain": domain}}, **run}


def gib(amount: float) -> int:
    return int(amount * GIB)


class Bench:
    """A decider and the world it thinks it is in."""

    def __init__(self, spec: Json | None = None, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.decider = VmDecider(self.settings)
        self.now = NOW
        self.vm: Json = {
            "metadata": {
                "name": "db",
                "namespace": "default",
                "uid": "vm-1",
                "generation": 1,
                "resourceVersion": "1",
                "finalizers": [names.FINALIZER],
            },
            "spec": spec or machine_spec(),
        }
        self.pods: dict[str, Json] = {}
        self.others: list[Json] = []
        """Other objects that were created, or patched."""
        self.sizes: list[str] = []
        self.orders: list[object] = []
        """vCPUs and GiB that the guest was told to have, in order."""
        self.events: list[str] = []
        self.attached: list[AttachDevice] = []
        self.report = Report(run_state="Running", vcpus=4, memory=gib(8), requested=gib(8))
        self._revision = 1
        self._made = 0
        self.see_vm()

    # ---- seeing

    def see(self, ref: tuple[str, str, str], body: Json) -> None:
        self.decider.fold(Seen(ref, msgspec.json.encode(body)))

    def see_vm(self) -> None:
        self._revision += 1
        self.vm["metadata"]["resourceVersion"] = str(self._revision)
        self.see(names.FLEX_VMS, self.vm)

    def see_pod(self, name: str = POD) -> None:
        self._revision += 1
        self.pods[name]["metadata"]["resourceVersion"] = str(self._revision)
        self.see(PODS, self.pods[name])

    def restart(self) -> None:
        """The controller dies and another one starts, which sees what there is."""
        self.decider = VmDecider(self.settings, self.decider.tally)
        self.see_vm()
        for name in self.pods:
            self.see_pod(name)

    # ---- deciding and doing

    def turn(self) -> ApiPlan:
        """Ask once, and do all of it."""
        plan = self.decider.decide(self.now)
        for action in plan.actions:
            self._do(action)
        for launcher, order in self.decider.take_orders():
            if isinstance(order, AttachDevice):
                self.attached.append(order)
                continue
            assert isinstance(order, SetSize)
            self.orders.append((order.vcpus, order.memory / GIB))
            self.told = order
            self.launcher = launcher
        return plan

    def settle(self) -> "Bench":
        """Ask until nothing more is to be done."""
        for _ in range(50):
            if not self.turn().actions:
                return self
        raise AssertionError("it never settles")

    def _do(self, action: Any) -> None:
        match action:
            case RecordEvent():
                self.events.append(action.reason)
            case CreateObject(ref=ref) if ref == PODS:
                self._create(action.body)
            case CreateObject():
                self.others.append(action.body)
            case DeleteObject(name=name):
                self.pods[name]["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
                self.see_pod(name)
            case PatchObject(ref=ref) if ref == names.FLEX_VMS:
                self.vm = merge_patch(self.vm, action.patch)
                self.see_vm()
            case PatchObject(ref=ref, subresource="resize") if ref == PODS:
                self._resize(action)
            case PatchObject(ref=ref) if ref == PODS:
                self.pods[action.name] = merge_patch(self.pods[action.name], action.patch)
                self.see_pod(action.name)
            case PatchObject():
                self.others.append(action.patch)

    def _create(self, body: Json) -> None:
        self._made += 1
        self.pods[body["metadata"]["name"]] = {
            **body,
            "metadata": {
                **body["metadata"],
                "uid": f"pod-{self._made}",
                "generation": 1,
                "creationTimestamp": f"2027-01-15T08:00:0{self._made}Z",
            },
            "status": {"phase": "Pending"},
        }
        self.see_pod(body["metadata"]["name"])

    def _resize(self, action: PatchObject) -> None:
        pod = self.pods[action.name]
        assert action.patch["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]
        wanted = action.patch["spec"]["containers"][0]["resources"]
        for name, limit in wanted.get("limits", {}).items():
            assert Quantity.parse(limit) >= Quantity.parse(wanted["requests"][name]), "the API would refuse it"
        pod["spec"]["containers"][0]["resources"] = wanted
        pod["metadata"]["generation"] += 1
        self.sizes.append(size_text(wanted["requests"]))
        self.see_pod(action.name)

    # ---- what the node says

    def run(self, node: str = "n1", name: str = POD) -> "Bench":
        """A node takes the pod and runs it."""
        self.pods[name]["spec"]["nodeName"] = node
        return self.grant(name)

    def grant(self, name: str = POD) -> "Bench":
        """The node gives the pod all that it asks for."""
        resources = self.pods[name]["spec"]["containers"][0]["resources"]
        return self._status(name, resources["requests"], resources, [])

    def allocate(self, name: str = POD) -> "Bench":
        """Granted, and not carried out yet."""
        asked = self.pods[name]["spec"]["containers"][0]["resources"]["requests"]
        known = self.pods[name]["status"]["containerStatuses"][0]["resources"]
        return self._status(name, asked, known, [_condition("PodResizeInProgress", "", "")])

    def trouble(self, message: str, name: str = POD) -> "Bench":
        asked = self.pods[name]["spec"]["containers"][0]["resources"]["requests"]
        known = self.pods[name]["status"]["containerStatuses"][0]["resources"]
        return self._status(name, asked, known, [_condition("PodResizeInProgress", "Error", message)])

    def pend(self, reason: str, message: str = "no room", name: str = POD) -> "Bench":
        """The node does not grant it: Deferred or Infeasible."""
        known = self.pods[name]["status"]["containerStatuses"][0]
        condition = _condition("PodResizePending", reason, message)
        return self._status(name, known["allocatedResources"], known["resources"], [condition])

    def _status(self, name: str, allocated: Json, resources: Json, conditions: list[Json]) -> "Bench":
        container = {
            "name": "compute",
            "allocatedResources": allocated,
            "resources": resources,
            "state": {"running": {}},
        }
        generation = self.pods[name]["metadata"]["generation"]
        self.pods[name]["status"] = {
            "phase": "Running",
            "observedGeneration": generation,
            "conditions": conditions,
            "containerStatuses": [container],
        }
        self.see_pod(name)
        return self

    def end(self, phase: str = "Failed", code: int = 139, ran_s: int = 5, name: str = POD) -> "Bench":
        """The machine ends."""
        over = {
            "exitCode": code,
            "reason": "Completed" if not code else "OOMKilled" if code == 137 else "Error",
            "startedAt": "2027-01-15T08:00:00Z",
            "finishedAt": f"2027-01-15T08:{ran_s // 60:02d}:{ran_s % 60:02d}Z",
        }
        status = self.pods[name]["status"]
        status["phase"] = phase
        status["containerStatuses"][0]["state"] = {"terminated": over}
        self.see_pod(name)
        return self

    def gone(self, name: str = POD) -> "Bench":
        """A pod that was deleted is no more."""
        meta = self.pods.pop(name)["metadata"]
        self.decider.fold(Vanished(PODS, "default", name, meta["uid"]))
        return self

    def refuse(self, code: int, message: str, plan: ApiPlan | None = None) -> ApiPlan:
        """Ask once, and let the API refuse the resize in the answer; the rest is done."""
        plan = plan or self.decider.decide(self.now)
        for action in plan.actions:
            if isinstance(action, PatchObject) and action.subresource == "resize":
                self.decider.fold(Failed(action, code, "Forbidden", message))
            else:
                self._do(action)
        return plan

    # ---- what the guest says

    def say(self, name: str = POD, **changes: Any) -> "Bench":
        """The launcher reports; what is not named is as before."""
        self.report = msgspec.structs.replace(self.report, **changes)
        meta = self.pods[name]["metadata"]
        node = self.pods[name]["spec"].get("nodeName", "")
        self.decider.learn_report(Launcher("default", name, meta["uid"], node), self.report, self.now)
        return self

    def obey(self, **changes: Any) -> "Bench":
        """The guest does what it was told last, except for what is named."""
        done = {
            "vcpus": self.told.vcpus,
            "memory": self.told.memory,
            "requested": self.told.memory,
            "order": self.told.id,
            "cpu": Answer(),
            "ram": Answer(),
        }
        return self.say(**{**done, **changes})

    def live(self) -> "Bench":
        """From nothing to a machine that runs and has answered its first order."""
        self.settle().run().settle()
        return self.say().settle().obey().settle()

    # ---- what users do

    def wish(self, vcpus: int | None = None, guest: str | None = None, **parts: Any) -> "Bench":
        """Change the size of the machine."""
        domain: Json = parts
        if vcpus is not None:
            domain["cpu"] = {"sockets": vcpus, **parts.get("cpu", {})}
        if guest is not None:
            domain["memory"] = {"guest": guest}
        return self.change({"template": {"spec": {"domain": domain}}})

    def change(self, spec: Json) -> "Bench":
        self.vm = merge_patch(self.vm, {"spec": spec})
        self.vm["metadata"]["generation"] += 1
        self.see_vm()
        return self

    def annotate(self, **notes: str) -> "Bench":
        keys = {"requested": names.REQUESTED, "power": names.POWER}
        self.vm["metadata"]["annotations"] = {keys[key]: text for key, text in notes.items()}
        self.see_vm()
        return self

    def wait(self, seconds: float) -> "Bench":
        self.now += seconds
        return self

    # ---- what is seen

    @property
    def status(self) -> Json:
        found: Json = self.vm["status"]
        return found

    @property
    def resize(self) -> Json:
        found: Json = self.status["resize"]
        return found

    @property
    def phase(self) -> str:
        return str(self.resize.get("phase", "Idle"))

    def condition(self, kind: str) -> tuple[str, str] | None:
        for each in self.status["conditions"]:
            if each["type"] == kind:
                return each["status"], each.get("reason", "")
        return None

    @property
    def violations(self) -> int:
        return self.decider.tally.violations


def _condition(kind: str, reason: str, message: str) -> Json:
    return {"type": kind, "status": "True", "reason": reason, "message": message}


def size_text(requests: Json) -> str:
    """cpu/memory, memory in whole MiB."""
    return f"{requests['cpu']}/{-(-Quantity.parse(requests['memory']).value // MIB)}Mi"


def node(cpu: int, memory: str) -> tuple[tuple[str, str, str], Json]:
    return NODES, {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": str(cpu), "memory": memory}}}


def node_size(effective: Json, balloon: Json, **spec: Any) -> tuple[tuple[str, str, str], Json]:
    status = {"effective": effective, "balloon": {"allocated": balloon}}
    return NODE_SIZES, {"metadata": {"name": "n1", "uid": "s"}, "spec": spec, "status": status}


def quota(hard: str) -> tuple[tuple[str, str, str], Json]:
    spec = {"hard": {"requests.memory": hard}}
    return RESOURCE_QUOTAS, {"metadata": {"name": "q", "namespace": "default"}, "spec": spec}
