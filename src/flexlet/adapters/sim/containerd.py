"""What a simulated containerd remembers, and what it does to the kernel: cgroups, processes, logs.

Containers live here and not in the port, so that they live on when the runtime or the agent is away.
"""

import contextlib
import errno
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from flexlet.adapters.sim import programs, refusals, shell
from flexlet.adapters.sim.family import ContainerFamily
from flexlet.adapters.sim.hostfiles import HostFiles, MemoryFiles
from flexlet.adapters.sim.images import SimImages
from flexlet.adapters.sim.inside import Inside
from flexlet.adapters.sim.kernel import Kernel
from flexlet.adapters.sim.processes import KILL, Body, Process, Sleep, Start
from flexlet.adapters.sim.programs import Programs
from flexlet.adapters.sim.records import ContainerRecord, SandboxRecord
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.containers import files as container_files
from flexlet.core.runtime.shown import EXITED, NOT_READY, RUNNING, UNKNOWN

PAUSE_SCORE: Final = -998
TERMINATION_LOG: Final = "io.kubernetes.container.terminationMessagePath"


class Containerd:
    """The runtime behind `flexlet.adapters.sim.runtime.SimRuntime`."""

    def __init__(
        self,
        kernel: Kernel,
        *,
        images: SimImages | None = None,
        programs: Programs | None = None,
        files: HostFiles | None = None,
    ) -> None:
        self.kernel = kernel
        self.images = images or SimImages("busybox:1")
        self.programs = programs or Programs()
        self.files: HostFiles = files or MemoryFiles()
        self.sandboxes: dict[str, SandboxRecord] = {}
        self.containers: dict[str, ContainerRecord] = {}
        self.warm_up_s = 0.0
        """How long a process takes to do its first work, a container's own as well as one started later."""
        self.listeners: list[list[str]] = []
        self._identities = itertools.count(1)
        self._addresses = itertools.count(2)
        self._runs: dict[tuple[str, str], int] = {}

    def new_id(self) -> str:
        """64 hexadecimal digits, different each time and the same in every simulation."""
        return hashlib.sha256(str(next(self._identities)).encode()).hexdigest()

    def new_address(self) -> str:
        """The next address for a pod."""
        number = next(self._addresses)
        return f"10.88.{number // 256}.{number % 256}"

    def time_ns(self) -> int:
        """Now, as the wire says it."""
        return round(self.kernel.now() * 1_000_000) * 1000

    def tell(self, uid: str) -> None:
        """Something happened to a pod."""
        for listener in self.listeners:
            listener.append(uid)
        self.kernel.notify()

    def pause(self, sandbox: SandboxRecord) -> None:
        """Start the process that holds a sandbox's namespaces."""
        self._make_cgroup(sandbox.cgroup, {"cpu.weight": "1"})
        sandbox.pid = self.kernel.spawn(
            _pause, sandbox.cgroup, namespace=sandbox.id, is_init=True, oom_score_adj=PAUSE_SCORE
        ).pid

    def halt(self, sandbox: SandboxRecord) -> None:
        """End a sandbox and all that runs in it."""
        for container in self.containers_of(sandbox):
            self.kill(container)
        if sandbox.state == NOT_READY:
            # Of one that is lost the network goes, and the process that held it stays.
            sandbox.is_lost = False
            return
        sandbox.state = NOT_READY
        self.kernel.signal(sandbox.pid, KILL)
        self._drop_cgroup(sandbox.cgroup)
        self.tell(sandbox.config.uid)

    def containers_of(self, sandbox: SandboxRecord) -> list[ContainerRecord]:
        """The containers in a sandbox."""
        return [each for each in self.containers.values() if each.sandbox is sandbox]

    def start(self, container: ContainerRecord) -> None:
        """Start a container's process, or leave it exited with the reason."""
        uid, name = container.sandbox.config.uid, container.config.name
        run = self._runs.get((uid, name), 0)
        self._runs[uid, name] = run + 1
        container.program = self.programs.choose(container.config, run)
        if container.sandbox.state == NOT_READY:
            raise self._start_failed(container, f'sandbox container "{container.sandbox.id}" is not running')
        try:
            body = self._body(container)
            self._make_cgroup(container.cgroup, runc_files(container.resources))
        except (shell.NotFound, OSError) as error:
            raise self._start_failed(container, refusals.start_failed(str(error))) from error
        container.state = RUNNING
        container.started_at = self.time_ns()
        container.pid = self._family(container).start(self._warmed_up(body), is_init=True).pid
        self.tell(uid)

    def kill(self, container: ContainerRecord) -> None:
        """End a container at once."""
        if container.state in {RUNNING, UNKNOWN}:
            self.kernel.signal(container.pid, KILL)

    def update(self, container: ContainerRecord, asked: RuntimeResources) -> None:
        """Merge amounts into what is remembered, and write them if the container runs; zero means as before."""
        merged = merge(container.resources, asked)
        if container.state == RUNNING:
            self._write(container.cgroup, runc_files(merged))
        container.resources = merged

    def exec(
        self,
        container: ContainerRecord,
        command: Sequence[str],
        out: Callable[[str], None],
        err: Callable[[str], None],
        on_exit: Callable[[int], None],
    ) -> Process:
        """Start a command in a running container."""
        inside = self._inside(container, out, err)
        answer = container.program.execs.get(tuple(command)) if container.program else None
        body = programs.exec_body(answer, inside) if answer else shell.body(tuple(command), inside)
        return self._family(container).start(self._warmed_up(body), on_exit=on_exit)

    def _body(self, container: ContainerRecord) -> Start:
        command = (*container.config.command, *container.config.args)
        inside = self._inside(
            container,
            lambda text: self._log(container, text, "stdout"),
            lambda text: self._log(container, text, "stderr"),
        )
        program = container.program or (None if command else self.programs.default)
        if program is None:
            return shell.body(command, inside)
        if program.start_error:
            raise shell.NotFound(program.start_error)
        return programs.body(program, inside)

    def _warmed_up(self, body: Start) -> Start:
        def live(process: Process) -> Body:
            yield Sleep(self.warm_up_s, interruptible=False)
            return (yield from body(process))

        return live if self.warm_up_s else body

    def _inside(
        self, container: ContainerRecord, out: Callable[[str], None], err: Callable[[str], None]
    ) -> Inside:
        return Inside(
            container.files,
            out,
            err,
            self._family(container),
            environment=dict(container.config.envs),
            termination_log=container.config.annotations.get(TERMINATION_LOG, "/dev/termination-log"),
        )

    def _family(self, container: ContainerRecord) -> ContainerFamily:
        return ContainerFamily(self.kernel, container, self._ended)

    def _start_failed(self, container: ContainerRecord, text: str) -> Exception:
        container.state, container.exit_code = EXITED, 128
        container.finished_at = self.time_ns()
        container.reason, container.message = "StartError", text
        self._drop_cgroup(container.cgroup)
        self.tell(container.sandbox.config.uid)
        return refusals.fault(text)

    def _ended(self, container: ContainerRecord, process: Process, code: int, oom: bool) -> None:
        """Any process that dies for want of memory marks the container; only the first one ends it."""
        if oom:
            container.reason = "OOMKilled"
        if not process.is_init or container.is_lost:
            return
        for stream in [each for each, text in container.unfinished.items() if text]:
            self._log(container, "\n", stream)
        container.state, container.exit_code = EXITED, code
        container.finished_at = self.time_ns()
        container.reason = container.reason or ("Error" if code else "Completed")
        self._drop_cgroup(container.cgroup)
        self.tell(container.sandbox.config.uid)

    def _log(self, container: ContainerRecord, text: str, stream: str) -> None:
        """A line is written when it is complete, or when the container ends."""
        *lines, container.unfinished[stream] = (container.unfinished.get(stream, "") + text).split("\n")
        if container.log_path and lines:
            stamp = datetime.fromtimestamp(self.kernel.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
            logged = "".join(f"{stamp} {stream} F {line}\n" for line in lines)
            self.files.write(container.log_path, logged, append=True)

    def _make_cgroup(self, path: str, files: Mapping[str, str]) -> None:
        self.kernel.machine.mkdir(path)
        self._write(path, files)

    def _write(self, path: str, files: Mapping[str, str]) -> None:
        """What the kernel lacks is skipped."""
        for name, text in files.items():
            try:
                self.kernel.write(path, name, text)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise

    def _drop_cgroup(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self.kernel.machine.rmdir(path)


def runc_files(resources: RuntimeResources) -> dict[str, str]:
    """What runc 1.1 writes for a container: linear weights, and no huge pages, which containerd leaves out."""
    return container_files(replace(resources, hugepage_limits={}), logarithmic=False)


def merge(old: RuntimeResources, new: RuntimeResources) -> RuntimeResources:
    """What containerd remembers after an update; the score and huge pages stay as they were."""
    return replace(
        old,
        cpu_shares=new.cpu_shares or old.cpu_shares,
        cpu_quota=new.cpu_quota or old.cpu_quota,
        cpu_period=new.cpu_period or old.cpu_period,
        memory_limit=new.memory_limit or old.memory_limit,
        unified=old.unified | new.unified,
        cpuset_cpus=new.cpuset_cpus or old.cpuset_cpus,
        cpuset_mems=new.cpuset_mems or old.cpuset_mems,
    )


def _pause(_: Process) -> Body:
    while True:
        yield Sleep()
