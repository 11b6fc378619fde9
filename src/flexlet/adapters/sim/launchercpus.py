"""The vCPUs of a simulated virtual machine: sockets, of which the first never goes."""

from typing import Final

from flexlet.adapters.sim.launchertemper import GIVE_UP, RETRY_S, Agenda, Temper
from flexlet.core.vm import plugging
from flexlet.core.vm.bootline import vcpus_a_socket
from flexlet.core.vm.guest import Answer, Machine

_ONE_GOES_S: Final = 30.0
"""How long a launcher waits for one before it asks for the next."""


class SimCpus:
    """Plugs the lowest free socket, unplugs the highest first, and tries another one if the guest keeps that."""

    def __init__(self, machine: Machine, temper: Temper, agenda: Agenda) -> None:
        self.unit = vcpus_a_socket(machine)
        self.slots = set(range(machine.sockets))
        self.online = set(self.slots)
        self.answer = Answer()
        self.is_able = False
        """Whether anything can be plugged at present."""
        self._machine = machine
        self._temper = temper
        self._agenda = agenda
        self._goal: int | None = None
        """Sockets that were ordered, None if nobody has."""
        self._asked: set[int] = set()
        self._why = ""
        self._deadline = 0.0
        self._patience_s = 120.0

    @property
    def count(self) -> int:
        """How many vCPUs are plugged in."""
        return len(self.slots) * self.unit

    def want(self, count: int, patience_s: float, now: float) -> None:
        """Bring them to this number."""
        self._goal, self._patience_s = plugging.whole(count, self._machine) // self.unit, patience_s
        self.begin(now)

    def begin(self, now: float) -> None:
        """Ask the guest anew, from whatever there is."""
        if self._goal is not None:
            self._agenda.drop("cpu", "silence")
            self._asked, self._why = set(), ""
            self._deadline = now + self._patience_s
            self.answer = Answer("Changing")
            self.go_on(now)

    def go_on(self, now: float) -> None:
        """Do the next thing, if there is one."""
        if self.answer.progress == "Changing" and self.is_able and "silence" not in self._agenda:
            self._agenda.put("cpu", now + self._temper.cpu_s, self._step)

    def forget(self) -> None:
        """Nothing was ever asked for."""
        self._agenda.drop("cpu", "silence")
        self._goal, self.answer = None, Answer()

    def reset(self, now: float) -> None:
        """A guest that starts anew uses all, and no longer has what it was asked for without an answer."""
        self.slots -= self._asked & self._temper.silent
        self.online = set(self.slots)
        self._agenda.drop("silence")
        if self._goal == len(self.slots):
            self.answer = Answer(failures=self.answer.failures)
        elif self.answer.progress == "Settled":
            self.begin(now)

    def _step(self, now: float) -> None:
        goal = len(self.slots) if self._goal is None else self._goal
        if len(self.slots) < goal:
            self._plug(goal, now)
        elif len(self.slots) > goal:
            self._unplug(goal, now)
        if len(self.slots) == goal:
            self.answer = Answer(failures=self.answer.failures)
        self.go_on(now)

    def _plug(self, goal: int, now: float) -> None:
        most = self._machine.max_sockets
        if goal > most:
            text = f"the machine was started for {most * self.unit} vCPUs at most, not {goal * self.unit}"
            self.answer = Answer("Failed", text, GIVE_UP)
            return
        free = min(set(range(most)) - self.slots)
        if self._temper.cpu_failures:
            self._temper.cpu_failures -= 1
            self._failed(f"QEMU refuses device_add: cannot plug vcpu-{free}-0-0", now)
            return
        self.slots.add(free)
        if self._temper.onlines:
            self.online.add(free)

    def _failed(self, message: str, now: float) -> None:
        """A launcher tries a few times by itself."""
        count = self.answer.failures + 1
        self.answer = Answer("Failed" if count >= GIVE_UP else "Changing", message, count)
        if count < GIVE_UP:
            self._agenda.put("silence", now + RETRY_S * count, self.go_on)

    def _unplug(self, goal: int, now: float) -> None:
        slot = max(self.slots - self._asked - {0}, default=None)
        if slot is None or now >= self._deadline:
            text = f"{self.count} vCPUs instead of {goal * self.unit}: {self._why or 'Boot CPU is unpluggable'}"
            self.answer = Answer("Partial", text, self.answer.failures)
            return
        self._asked.add(slot)
        if slot in self._temper.silent:
            wait_s = min(_ONE_GOES_S, self._deadline - now)
            self._why = f"the guest has not let vcpu-{slot}-0-0 go within {wait_s:g} s"
            self._agenda.put("silence", now + wait_s, self.go_on)
        elif slot in self._temper.pinned:
            self._why = f"the guest keeps vcpu-{slot}-0-0: the device is busy (ACPI status 130)"
        else:
            self.slots.discard(slot)
            self.online.discard(slot)
