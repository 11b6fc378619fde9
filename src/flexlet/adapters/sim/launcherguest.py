"""A virtual machine as QEMU and its launcher would have it, in memory and in the time it is told.

Slots of vCPUs of which the first stays, elastic memory in blocks on top of what is always there, and a guest with
a temper. Everything that takes time stands on an agenda; `advance` lets happen what was due by then, in order, so
nothing depends on when somebody looks.
"""

from collections.abc import Callable
from typing import Final

from flexlet.adapters.sim.launchercpus import SimCpus
from flexlet.adapters.sim.launchermemory import SimMemory
from flexlet.adapters.sim.launchertemper import Agenda, Temper
from flexlet.core.vm.guest import (
    AttachDevice,
    Listen,
    Machine,
    MigrateCancel,
    MigrateTo,
    Move,
    MoveState,
    Order,
    PowerDown,
    Report,
    RunState,
    SetSize,
)

OVER: Final = frozenset({"Ended", "Migrated"})
Arrival = Callable[["SimGuest", MigrateTo], bool]
"""Hands a machine over that has been copied; False if nobody takes it."""


class SimGuest:
    """One machine; times are seconds, on any one clock."""

    def __init__(self, machine: Machine, temper: Temper, now: float) -> None:
        self.machine = machine
        self.temper = temper
        self.state: RunState = "Incoming" if machine.incoming else "Starting"
        self._agenda = Agenda()
        self.cpus = SimCpus(machine, temper, self._agenda)
        self.ram = SimMemory(machine, temper, self._agenda)
        self.resets = 0
        self.exit_code: int | None = None
        self.message = ""
        self.listens = ""
        """Where a machine that waits for another one does so."""
        self.devices: dict[str, str] = {}
        """Devices of the node that were handed to it, and their addresses."""
        self.move = Move()
        self.on_arrival: Arrival = lambda _guest, _to: False
        self._order = ""
        if not machine.incoming:
            self._agenda.put("start", now + temper.start_s, self._started)

    def advance(self, now: float) -> None:
        """Let happen what was due by then."""
        self._agenda.advance(now)

    def next_at(self) -> float | None:
        """When something will happen by itself."""
        return self._agenda.next_at()

    def report(self) -> Report:
        """The machine as it is."""
        if self.state == "Ended":
            return Report(run_state="Ended", resets=self.resets, exit_code=self.exit_code, message=self.message)
        return Report(
            run_state=self.state,
            vcpus=self.vcpus,
            vcpus_online=len(self.cpus.online) * self.cpus.unit if self.temper.has_agent else None,
            memory=self.memory,
            requested=self.ram.base + self.ram.asked,
            order=self._order,
            cpu=self.cpus.answer,
            ram=self.ram.answer,
            resets=self.resets,
            resident=self.temper.resident,
            move=self.move,
            accelerator="simulated",
            message=self.message,
        )

    @property
    def vcpus(self) -> int:
        """That are plugged in."""
        return self.cpus.count

    @property
    def memory(self) -> int:
        """Bytes that the guest has."""
        return self.ram.base + self.ram.elastic

    def obey(self, order: Order, now: float) -> None:
        """Begin what an order says."""
        self.advance(now)
        match order:
            case SetSize():
                self._set_size(order, now)
            case PowerDown():
                self._power_down(now)
            case AttachDevice(id=name, pci_address=address):
                self.devices[name] = address
            case Listen(address=address):
                self.listens, self.message = address, f"waits for the machine at {address}"
            case MigrateTo() if self.state == "Running" and self.move.state != "Active":
                self._migrate(order, now)
            case MigrateCancel() if self.move.state == "Active":
                self._stay("Cancelled", "it was called off", self.move.address, now)
            case _:
                pass

    def _set_size(self, order: SetSize, now: float) -> None:
        self._order = order.id
        self.cpus.want(order.vcpus, order.unplug_timeout_s, now)
        self.ram.want(order.memory, order.unplug_timeout_s, now)

    def _enable(self, is_able: bool, now: float) -> None:
        self.cpus.is_able = self.ram.is_able = is_able
        if is_able:
            self.cpus.go_on(now)
            self.ram.go_on(now)
        else:
            self._agenda.drop("cpu", "ram")

    def _started(self, now: float) -> None:
        self.state = "Running"
        self._enable(True, now)

    def reset(self, now: float) -> None:
        """The guest reboots: elastic memory is gone until its driver asks for it again."""
        self.advance(now)
        if self.state == "Running":
            self.resets += 1
            self._enable(False, now)
            self.cpus.reset(now)
            self.ram.reset(now)
            self._agenda.put("driver", now + self.temper.reset_s, self._is_back)

    def _is_back(self, now: float) -> None:
        self._enable(True, now)

    def forget(self, now: float) -> None:
        """The launcher starts anew beside the machine: what it was told is lost, what QEMU was asked is not."""
        self.advance(now)
        self._order = ""
        self.cpus.forget()
        self.ram.forget()

    def _power_down(self, now: float) -> None:
        grace, takes = self.machine.grace_s, self.temper.shutdown_s
        takes_s = grace if takes is None else min(takes, grace)
        self._agenda.put("down", now + takes_s, lambda then: self.end(0, "", then))

    def end(self, exit_code: int, message: str, now: float) -> None:
        """QEMU ends."""
        self.advance(now)
        if self.state != "Ended":
            self.state, self.exit_code, self.message = "Ended", exit_code, message
            self._agenda.clear()

    # ---- to another place

    def _migrate(self, order: MigrateTo, now: float) -> None:
        """Everything is copied, as fast as it goes beside what the guest writes meanwhile; perhaps never."""
        allowed = order.max_bandwidth or self.temper.bandwidth
        rate = min(self.temper.bandwidth, allowed) - self.temper.dirty_rate
        self.move = Move("Active", address=order.address)
        self._enable(False, now)
        if rate > 0:
            self._agenda.put(
                "copied", now + self.memory / rate, lambda then: self._copied(order, then - now, then)
            )

    def _copied(self, order: MigrateTo, took_s: float, now: float) -> None:
        if not self.on_arrival(self, order):
            self._stay("Failed", f"nobody listens at {order.address}", order.address, now)
            return
        took_ms = round(took_s * 1000)
        self.move = Move("Completed", self.memory, took_ms, order.downtime_limit_ms, address=order.address)
        self.state = "Migrated"
        self._agenda.clear()

    def _stay(self, state: MoveState, message: str, address: str, now: float) -> None:
        self.move = Move(state, message=message, address=address)
        self._agenda.drop("copied")
        self._enable(True, now)

    def arrive(self, source: "SimGuest", now: float) -> None:
        """Go on as the machine that was copied here."""
        self.state, self.resets, self.message = "Running", source.resets, ""
        self.cpus.slots, self.cpus.online = set(source.cpus.slots), set(source.cpus.online)
        self.ram.elastic, self.ram.asked = source.ram.elastic, source.ram.asked
        self.cpus.forget()
        self._enable(True, now)
