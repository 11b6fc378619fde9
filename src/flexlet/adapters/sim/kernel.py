"""A simulated kernel: processes, signals, memory limits, and the time that passes for them.

Time comes from a clock that others move. Nothing happens by itself: `settle` runs everything that was due by now,
in the order of its time and at that time, and every port calls it before it looks or acts.
"""

import asyncio
import errno
import heapq
import itertools
from collections.abc import Callable
from typing import Final

from flexlet.adapters.sim import cgroupfiles, counters, memory
from flexlet.adapters.sim.cgroupfiles import refusal
from flexlet.adapters.sim.machine import Machine, lineage
from flexlet.adapters.sim.processes import KILL, Charge, Child, Effect, Process, Signal, Sleep, Start
from flexlet.ports.clock import Clock

_PINS: Final = frozenset({"cpuset.cpus", "cpuset.mems"})


class Kernel:
    """What moves a machine: everything that changes it in time goes through here."""

    def __init__(self, clock: Clock, machine: Machine | None = None) -> None:
        self.clock = clock
        self.machine = machine or Machine()
        self.refuses_below_usage = False
        """Answer EBUSY to a memory limit that only killing could keep, instead of killing."""
        self._pids = itertools.count(1000)
        self._alarms: list[tuple[float, int, int, int]] = []
        self._order = itertools.count()
        self._instant: float | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def now(self) -> float:
        """The time of what is happening, which may lie a little back."""
        return self.clock.now() if self._instant is None else self._instant

    def settle(self) -> None:
        """Let everything happen that was due by now."""
        if self._instant is not None:
            return
        present = self.clock.now()
        while (due := self.next_due()) is not None and due <= present:
            self._instant, _, pid, _ = heapq.heappop(self._alarms)
            self._resume(self.machine.processes[pid], None)
        self._instant = None

    def next_due(self) -> float | None:
        """When something will happen by itself."""
        while self._alarms and self._is_stale(self._alarms[0]):
            heapq.heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    async def wait(self, until: float | None = None) -> None:
        """Wait for anything to change, at most until then."""
        changed = asyncio.get_running_loop().create_future()
        self._waiters.append(changed)
        times = [time for time in (until, self.next_due()) if time is not None]
        if times:
            await self._wait_until(changed, min(times))
        else:
            await changed
        self.settle()

    def notify(self) -> None:
        """Wake up whoever waits for a change."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_result(None)

    def spawn(
        self,
        body: Start,
        cgroup: str,
        *,
        namespace: str = "",
        is_init: bool = False,
        parent: int = 0,
        oom_score_adj: int = 0,
        on_exit: Callable[[Process, int, bool], None] | None = None,
    ) -> Process:
        """Start a process; it runs until it first waits for something, and may have ended then."""
        process = Process(
            pid=next(self._pids),
            cgroup=cgroup,
            namespace=namespace,
            is_init=is_init,
            parent=parent,
            started_at=self.now(),
            oom_score_adj=oom_score_adj,
            on_exit=on_exit,
        )
        process.body = body(process)
        self.machine.processes[process.pid] = process
        self._resume(process, None)
        return process

    def signal(self, pid: int, number: int) -> None:
        """Send a signal; init processes hear only those they asked for, and KILL."""
        process = self.machine.processes.get(pid)
        if process is None or number in process.ignored:
            return
        if number == KILL:
            if not process.unkillable:
                self.end(process, 128 + KILL)
        elif number in process.handled:
            self._deliver(process, number)
        elif not process.is_init:
            self.end(process, 128 + number)

    def end(self, process: Process, code: int, *, oom: bool = False) -> None:
        """A process is over, and with an init process all of its namespace."""
        if self.machine.processes.pop(process.pid, None) is None:
            return
        if process.body is not None and not process.is_running:
            process.body.close()
        self.machine.cgroups[process.cgroup].cpu_spent_us += counters.spent_us(process, self.now())
        if process.is_init:
            self._end_namespace(process.namespace)
        if process.on_exit is not None:
            process.on_exit(process, code, oom)
        parent = self.machine.processes.get(process.parent)
        if parent is not None and isinstance(parent.waits_for, Child) and parent.waits_for.pid == process.pid:
            self._resume(parent, code)
        self.notify()

    def read(self, path: str, name: str) -> str | None:
        """A cgroup file's text; None if there is no such file."""
        cgroup = self.machine.cgroups.get(path)
        if cgroup is None:
            return None
        computed = counters.text(self.machine, path, name, self.now())
        return cgroup.files.get(name) if computed is None else computed

    def write(self, path: str, name: str, text: str) -> None:
        """Write a cgroup file; OSError as the kernel would answer."""
        if path not in self.machine.cgroups:
            raise refusal(errno.ENOENT)
        match name:
            case "cgroup.procs":
                self._move(path, text)
            case "cgroup.kill":
                for process in self.machine.inside(path):
                    self.signal(process.pid, KILL)
            case _:
                self._set(path, name, text)

    def _set(self, path: str, name: str, text: str) -> None:
        files = self.machine.cgroups[path].files
        if name not in files:
            raise refusal(errno.ENOENT)
        value = cgroupfiles.accepted(name, text, files[name])
        if name in _PINS and files[name] and not value and self.machine.inside(path):
            raise refusal(errno.ENOSPC)  # somebody runs there
        if name != "memory.max":
            files[name] = value
            return
        limit = cgroupfiles.amount(value)
        firm = memory.usage(self.machine, path) - memory.reclaimable(self.machine, path)
        if self.refuses_below_usage and limit is not None and firm > limit:
            raise refusal(errno.EBUSY)
        files[name] = value
        self._enforce(path)

    def _enforce(self, path: str) -> None:
        """Kill until the limit is kept; with its last process a cgroup may go, too."""
        while path in self.machine.cgroups and (victims := memory.victims(self.machine, path)):
            for process in victims:
                memory.count_kill(self.machine, process)
            for process in victims:
                self.end(process, 128 + KILL, oom=True)

    def _move(self, path: str, text: str) -> None:
        process = self.machine.processes.get(int(text)) if text.isdecimal() else None
        if process is None:
            raise refusal(errno.ESRCH if text.isdecimal() else errno.EINVAL)
        process.cgroup = path

    def _resume(self, process: Process, value: object) -> None:
        while process.pid in self.machine.processes and process.body is not None:
            process.turn += 1
            process.waits_for = None
            process.is_running = True
            try:
                effect = process.body.send(value)
            except StopIteration as done:
                self.end(process, done.value)
                return
            finally:
                process.is_running = False
            if process.pid not in self.machine.processes:  # killed by what it has just done
                process.body.close()
                return
            process.waits_for = effect
            if not self._is_over(process, effect):
                return
            value = None

    def _is_over(self, process: Process, effect: Effect) -> bool:
        """Begin what the process waits for; whether it can go on at once."""
        match effect:
            case Charge():
                memory.charge(self.machine, process, effect)
                for path in lineage(process.cgroup):
                    self._enforce(path)
                return True
            case Child(pid):
                return pid not in self.machine.processes
            case Sleep(seconds):
                if seconds is not None:
                    alarm = (self.now() + seconds, next(self._order), process.pid, process.turn)
                    heapq.heappush(self._alarms, alarm)
                    self.notify()
                return False

    def _deliver(self, process: Process, number: int) -> None:
        match process.waits_for:
            case Sleep(interruptible=True) | Child(interruptible=True):
                self._resume(process, Signal(number))
            case _:
                process.pending.append(number)

    def _end_namespace(self, namespace: str) -> None:
        for each in list(self.machine.processes.values()):
            if each.namespace == namespace:
                self.end(each, 128 + KILL)

    def _is_stale(self, alarm: tuple[float, int, int, int]) -> bool:
        process = self.machine.processes.get(alarm[2])
        return process is None or process.turn != alarm[3]

    async def _wait_until(self, changed: "asyncio.Future[None]", due: float) -> None:
        sleeper = asyncio.ensure_future(self.clock.sleep(max(0.0, due - self.clock.now())))
        try:
            await asyncio.wait({changed, sleeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeper.cancel()
            changed.cancel()
