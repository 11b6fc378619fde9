"""Simulated launchers: `flexlet.ports.vmguest.GuestLinks` for pods that no QEMU runs in.

A machine belongs to a pod, by its uid: it starts when somebody first asks for it while the pod runs, outlives the
lines to it, and ends the pod when it ends, as QEMU does in a pod that is not restarted. Time is the clock's, and
nothing runs in the background: whoever follows a machine lets happen what is due.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from flexlet.adapters.sim.launcherguest import OVER, SimGuest
from flexlet.adapters.sim.launchertemper import Temper
from flexlet.api import age
from flexlet.api.status import ApiError, NotFound
from flexlet.core.vm import names
from flexlet.core.vm.guest import Machine, MigrateTo, Order, Report
from flexlet.errors import HypervisorGone
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import PODS, Cluster

Json = dict[str, Any]
Key = tuple[str, str]


class SimVm:
    """The machine of one pod, and who listens to it."""

    def __init__(self, key: Key, uid: str, address: str, guest: SimGuest) -> None:
        self.key = key
        self.uid = uid
        self.address = address
        self.guest = guest
        self.links: set[SimLink] = set()

    def ring(self) -> None:
        """Let all who listen look again."""
        for link in self.links:
            link.bell.set()


class SimLink:
    """One line to one machine."""

    def __init__(self, vm: SimVm, clock: Clock, launchers: "SimLaunchers") -> None:
        self.bell = asyncio.Event()
        self.is_cut = False
        self._vm = vm
        self._clock = clock
        self._launchers = launchers

    async def order(self, order: Order) -> None:
        """Tell it what shall be; it answers by reports."""
        self._check()
        self._vm.guest.obey(order, self._clock.now())
        self._vm.ring()

    async def reports(self) -> AsyncIterator[Report]:
        """The machine as it is now, and again whenever that changes; ends with the machine."""
        told: Report | None = None
        while True:
            self._check()
            self.bell.clear()
            report = await self._launchers.look(self._vm)
            if report != told:
                told = report
                yield report
            if report.run_state == "Ended":
                return
            if not self.bell.is_set():
                await self._sleep_until(self._vm.guest.next_at())

    def _check(self) -> None:
        if self.is_cut:
            raise HypervisorGone(f"the line to the launcher in pod {self._vm.key[1]} broke")

    async def _sleep_until(self, moment: float | None) -> None:
        if moment is None:
            await self.bell.wait()
            return
        async with asyncio.TaskGroup() as group:
            alarm = group.create_task(self._ring_in(max(0.0, moment - self._clock.now())))
            await self.bell.wait()
            alarm.cancel()

    async def _ring_in(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self.bell.set()


class SimLaunchers:
    """`flexlet.ports.vmguest.GuestLinks` in memory, for the pods of one cluster."""

    def __init__(self, cluster: Cluster, clock: Clock, temper: Temper | None = None) -> None:
        self._cluster = cluster
        self._clock = clock
        self._temper = temper or Temper()
        self._vms: dict[Key, SimVm] = {}
        self.silent: set[Key] = set()
        """Pods whose launcher answers nobody."""

    @contextlib.asynccontextmanager
    async def open(self, namespace: str, pod: str) -> AsyncIterator[SimLink]:
        """A line to the launcher in this pod; HypervisorGone if nobody answers."""
        key = namespace, pod
        if key in self.silent:
            raise HypervisorGone(f"the launcher in pod {pod} does not answer")
        vm = await self._found(key)
        link = SimLink(vm, self._clock, self)
        vm.links.add(link)
        try:
            yield link
        finally:
            vm.links.discard(link)

    # ---- what befalls machines

    def guest(self, namespace: str, pod: str) -> SimGuest | None:
        """The machine of a pod as it is now, if it has one."""
        vm = self._vms.get((namespace, pod))
        if vm is None:
            return None
        vm.guest.advance(self._clock.now())
        return vm.guest

    def guests(self) -> dict[Key, SimGuest]:
        """All machines that run, by namespace and pod."""
        return {key: guest for key in self._vms if (guest := self.guest(*key)) and guest.state not in OVER}

    def reset(self, namespace: str, pod: str) -> None:
        """The guest reboots."""
        vm = self._vms[namespace, pod]
        vm.guest.reset(self._clock.now())
        vm.ring()

    async def crash(self, namespace: str, pod: str, exit_code: int = 139) -> None:
        """QEMU dies, and the pod with it."""
        vm = self._vms[namespace, pod]
        vm.guest.end(exit_code, "QEMU was killed", self._clock.now())
        await self.look(vm)
        vm.ring()

    def cut(self, namespace: str, pod: str, *, restarted: bool = False) -> None:
        """Break all lines to a launcher; one that was restarted has forgotten what it was told."""
        vm = self._vms[namespace, pod]
        for link in vm.links:
            link.is_cut = True
        vm.ring()
        if restarted:
            vm.guest.forget(self._clock.now())

    def gone(self, namespace: str, pod: str, uid: str) -> None:
        """The pod was taken away, and its machine with it."""
        vm = self._vms.get((namespace, pod))
        if vm is not None and vm.uid == uid:
            del self._vms[namespace, pod]
            vm.guest.end(137, "the pod was deleted", self._clock.now())
            vm.ring()

    # ---- machines and their pods

    async def look(self, vm: SimVm) -> Report:
        """What there is to report now; a machine that has ended takes its pod with it."""
        was_over = vm.guest.state in OVER
        vm.guest.advance(self._clock.now())
        report = vm.guest.report()
        if report.run_state == "Ended" and self._vms.get(vm.key) is vm:
            await self._end_pod(vm, report)
        if report.run_state in OVER and not was_over:
            vm.ring()
        return report

    async def _found(self, key: Key) -> SimVm:
        pod = await self._pod(key)
        uid = pod["metadata"]["uid"]
        known = self._vms.get(key)
        if known is not None and known.uid == uid:
            return known
        if pod.get("status", {}).get("phase") != "Running":
            raise HypervisorGone(f"pod {key[1]} does not run: nobody to talk to")
        note = pod["metadata"].get("annotations", {}).get(names.MACHINE)
        if note is None:
            raise HypervisorGone(f"pod {key[1]} has no annotation {names.MACHINE}: it is no launcher")
        guest = SimGuest(_machine(pod, note), self.temper_of(pod), self._clock.now())
        guest.on_arrival = self._arrive
        self._vms[key] = SimVm(key, uid, pod["status"].get("podIP", ""), guest)
        return self._vms[key]

    def temper_of(self, pod: Json) -> Temper:
        """How the machine of a pod is to behave; to be overridden by whoever wants each to be different."""
        del pod
        return msgspec.structs.replace(
            self._temper, pinned=set(self._temper.pinned), silent=set(self._temper.silent)
        )

    async def _pod(self, key: Key) -> Json:
        try:
            pod: Json = msgspec.json.decode(await self._cluster.get(PODS, *key))
        except NotFound as error:
            self._vms.pop(key, None)
            raise HypervisorGone(f"there is no pod {key[1]}") from error
        except ApiError as error:
            raise HypervisorGone(f"cannot look at pod {key[1]}: {error}") from error
        return pod

    async def _end_pod(self, vm: SimVm, report: Report) -> None:
        """The container has exited; nothing restarts it."""
        self._vms.pop(vm.key)
        with contextlib.suppress(ApiError, HypervisorGone):
            pod = await self._pod(vm.key)
            if pod["metadata"]["uid"] == vm.uid:
                body = {"metadata": {"uid": vm.uid}, "status": ended(pod, report, self._clock.now())}
                await self._cluster.patch(PODS, *vm.key, body, subresource="status")

    def _arrive(self, source: SimGuest, order: MigrateTo) -> bool:
        """Hand a copied machine to whoever listens where it was sent."""
        host, _, port = order.address.removeprefix("tcp:").rpartition(":")
        for vm in self._vms.values():
            is_there = vm.guest.listens.rpartition(":")[2] == port and host in {vm.address, ""}
            if vm.guest is not source and vm.guest.state == "Incoming" and is_there:
                vm.guest.arrive(source, self._clock.now())
                vm.ring()
                return True
        return False


def _machine(pod: Json, note: str) -> Machine:
    """What a pod starts; one that a machine has moved to and that is met anew has it already."""
    machine = msgspec.json.decode(note, type=Machine)
    is_waiting = names.MIGRATION_LABEL in pod["metadata"].get("labels", {})
    return msgspec.structs.replace(machine, incoming=machine.incoming and is_waiting)


def ended(pod: Json, report: Report, now: float) -> Json:
    """The status of a pod whose machine has ended."""
    code = report.exit_code or 0
    stamp = age.format_seconds(now)
    reason = "Completed" if code == 0 else "OOMKilled" if code == 137 else "Error"
    over = {"terminated": {"exitCode": code, "reason": reason, "message": report.message, "finishedAt": stamp}}
    statuses = [
        {**each, "ready": False, "started": False, "state": over}
        for each in pod["status"].get("containerStatuses", [])
    ]
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": statuses}
