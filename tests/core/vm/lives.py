"""Random lives of one machine, message by message: reports and orders lag, and nodes answer when they like.

After each step the truth is compared, not what the controller believes: the pod's granted amounts hold what the
guest has and what it may take without being asked again.
"""

from random import Random
from typing import TYPE_CHECKING

from tests.core.vm.vmworld import POD, Bench, Json, machine_spec

from flexlet.adapters.sim.launcherguest import SimGuest
from flexlet.adapters.sim.launchertemper import Temper
from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.units import GIB, MIB
from flexlet.core.actions import PatchObject
from flexlet.core.observations import Failed
from flexlet.core.vm import amounts, sights
from flexlet.core.vm.decider import Launcher
from flexlet.core.vm.podsize import need
from flexlet.core.vm.wanted import wanted

if TYPE_CHECKING:
    from flexlet.core.vm.guest import Order

LIMITS: Json = {"resources": {"requests": {"memory": "4Gi"}, "limits": {"memory": "4Gi"}}}


class Life(Bench):
    """A machine whose guest and node have a will of their own."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 a story told twice is the same story
        parts: Json = LIMITS if self.random.random() < 0.3 else {}
        policy = {
            "order": self.random.choice(["Parallel", "CpuFirst"]),
            "partialShrink": self.random.choice(["Accept", "Revert"]),
            "fallback": self.random.choice(["Wait", "Fail", "Restart"]),
            "deferTimeout": "20s",
            "unplugTimeout": "10s",
        }
        super().__init__(machine_spec(policy=policy, **parts))
        self.temper = Temper(ram_rate=self.random.choice([GIB, 8 * GIB, 64 * GIB]))
        self.guest: SimGuest | None = None
        self.waiting: list[Order] = []
        self.faults: list[str] = []

    # ---- the machine

    def begin(self) -> None:
        self.round()
        self.run()
        self.boot()
        self.pass_time(2)
        self.hear()
        self.round()

    def boot(self) -> None:
        machine = sights.launcher(decode.from_value(self.pods[POD], Pod)).machine
        assert machine is not None
        self.guest = SimGuest(machine, self.temper, self.now)

    @property
    def launcher_there(self) -> Launcher:
        return Launcher("default", POD, self.pods[POD]["metadata"]["uid"], "n1")

    def round(self) -> None:
        """The controller decides, once; its orders are on their way."""
        plan = self.decider.decide(self.now)
        for action in plan.actions:
            is_resize = isinstance(action, PatchObject) and action.subresource == "resize"
            if is_resize and self.random.random() < 0.1:
                self.decider.fold(Failed(action, *self.random.choice(_REFUSALS)))
            else:
                self._do(action)
            self.check()
        self.waiting += [order for _, order in self.decider.take_orders()]

    def hear(self) -> None:
        if self.guest is not None:
            self.guest.advance(self.now)
            self.decider.learn_report(self.launcher_there, self.guest.report(), self.now)
            self.check()

    def deliver(self) -> None:
        if self.guest is not None and self.waiting:
            self.guest.obey(self.waiting.pop(0), self.now)
            self.check()

    def cut(self) -> None:
        """The line breaks: what was on its way is lost, or not."""
        if self.random.random() < 0.5:
            self.deliver()
        self.waiting.clear()
        self.decider.lost_line(self.launcher_there, self.now)

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while self.guest is not None and (at := self.guest.next_at()) is not None and at <= until:
            self.now = max(self.now, at)
            self.guest.advance(self.now)
            self.check()
        self.now = until

    # ---- the truth

    def check(self) -> None:
        guest = self.guest
        if guest is None or guest.state not in {"Starting", "Running"}:
            return
        guest.advance(self.now)
        pod, report = sights.launcher(decode.from_value(self.pods[POD], Pod)), guest.report()
        size = wanted(self.decider.picture.vms["default/db"], self.settings)
        least = need(size, report.vcpus, max(report.memory, report.requested), self.settings)
        if not amounts.covers(pod.granted, amounts.bare(least)):
            self.faults.append(f"{self.now:.2f}: {pod.granted} < {least}")

    # ---- what befalls it

    def step(self) -> None:
        deeds = [self.round] * 6 + [self.hear] * 6 + [self.deliver] * 5 + [self._wish] * 2 + [self._node] * 5
        deeds += [self._wait] * 4 + [self.cut, self._kill, self._reset, self._mood]
        self.random.choice(deeds)()
        self.check()

    def _wish(self) -> None:
        memory = f"{self.random.randrange(4 * 1024, 16 * 1024 + 1, 256)}Mi"
        choice = self.random.random()
        self.wish(self.random.randrange(1, 17) if choice < 0.7 else None, memory if choice > 0.3 else None)

    def _node(self) -> None:
        kind = self.random.choice(["grant", "grant", "allocate", "Deferred", "Infeasible", "trouble"])
        if kind == "grant":
            self.grant()
        elif kind == "allocate":
            self.allocate()
        elif kind == "trouble":
            self.trouble("no")
        else:
            self.pend(kind)

    def _wait(self) -> None:
        self.pass_time(self.random.choice([0.0, 0.1, 0.6, 2.0, 12.0, 40.0]))

    def _kill(self) -> None:
        if self.random.random() < 0.5:
            self.deliver()
        self.waiting.clear()
        self.restart()

    def _reset(self) -> None:
        if self.guest is not None:
            self.guest.reset(self.now)

    def _mood(self) -> None:
        self.temper.keeps = self.random.choice([0, 0, 512 * MIB, 3 * GIB])
        self.temper.pinned = set(self.random.sample(range(1, 16), self.random.choice([0, 0, 2])))
        self.temper.cpu_failures = self.random.choice([0, 0, 1, 5])
        self.temper.ram_failures = self.random.choice([0, 0, 1, 5])

    # ---- the end

    def calm(self) -> None:
        """Everybody does what he should, for a long time."""
        self.temper.keeps = self.temper.cpu_failures = self.temper.ram_failures = 0
        self.temper.pinned = set()
        for _ in range(50):
            for _ in range(3):
                self.hear()
                self.round()
                self.deliver()
            status = self.pods[POD]["status"]
            if status["conditions"] or status["containerStatuses"][0]["allocatedResources"] != self._asked():
                self.grant()
            self.pass_time(25)

    def _asked(self) -> Json:
        found: Json = self.pods[POD]["spec"]["containers"][0]["resources"]["requests"]
        return found

    def complaint(self) -> str:
        """What is not as it should be in the end."""
        assert self.guest is not None
        report = self.guest.report()
        size = wanted(self.decider.picture.vms["default/db"], self.settings)
        held = sights.launcher(decode.from_value(self.pods[POD], Pod)).granted
        least = amounts.bare(need(size, report.vcpus, report.memory, self.settings))
        if held != least:
            return f"the pod has {held}, the guest needs {least}; {self.resize}"
        goal = (size.vcpus, size.memory)
        if (report.vcpus, report.memory) == goal and self.phase in {"Done", "Idle"}:
            return ""
        if self.phase == "Failed" and self.resize.get("setbacks"):
            return ""
        return f"{report} is not {goal}: {self.resize}"


_AMOUNT = "requests.memory=1Gi"
_REFUSALS = (
    (409, "Conflict", "the object has been modified"),
    (503, "ServiceUnavailable", "leader changed"),
    (403, "Forbidden", f"exceeded quota: q, requested: {_AMOUNT}, used: {_AMOUNT}, limited: {_AMOUNT}"),
    (403, "Forbidden", "node didn't have enough allocatable resources: memory"),
)
