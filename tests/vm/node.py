"""A cluster with a node in a machine, as ``flexlet up`` runs it, for tests that look at it from all sides.

It is a process of its own, started once and shared by all of a run: what a test does to the API server's clients
or to the node cannot stall the test itself. `Hands` are what a test has of it, in the loop of that test: the API,
the guest, and short words for what tests do again and again.
"""

import asyncio
import collections
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from tests.vm.machine import Vm
from tests.vm.process import Up

from flexlet.adapters.guest.client import Guest
from flexlet.adapters.kube import kubeconfig as credentials
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.qemu.directory import place
from flexlet.api.status import ApiError, NotFound
from flexlet.ports.cluster import EVENTS, NODES, PODS, Ref

NAME: Final = "vm"
NAMESPACE: Final = "default"
PATIENCE_S: Final = 400.0
IMAGE: Final = "busybox:1"
# Leaves at once when asked to, and does nothing until then.
LOOP: Final = "trap 'exit 0' TERM; sleep 1000000 & wait"
RESIZING: Final = frozenset({"PodResizePending", "PodResizeInProgress"})
_LOOK_S: Final = 0.3
Object = dict[str, Any]


class Node(NamedTuple):
    """A cluster that is up, and the machine of its node."""

    kubeconfig: Path
    vm: Vm

    @contextlib.asynccontextmanager
    async def hands(self) -> AsyncIterator["Hands"]:
        """Connections for one test."""
        async with HttpCluster(credentials.load(self.kubeconfig)) as api, self.vm.guest() as guest:
            yield Hands(api, guest)


@contextlib.contextmanager
def up(directory: Path, *options: str) -> Iterator[Node]:
    """``flexlet up``, with its data in `directory`; ``FLEXLET_UP=DIR`` takes one that runs already."""
    if given := os.environ.get("FLEXLET_UP"):
        yield Node(Path(given, "kubeconfig"), Vm(Path(given), place(Path(given), NAME)))
        return
    process = Up(directory, *options)
    try:
        process.ready()
        yield Node(process.kubeconfig, Vm(directory, place(directory, NAME)))
    finally:
        try:
            code = process.interrupt()
        finally:
            process.end(signal.SIGKILL)
    assert (code, "Traceback" in process.said()) == (0, False), process.said()


class Hands:
    """What a test can do."""

    def __init__(self, api: HttpCluster, guest: Guest) -> None:
        self.api = api
        self.guest = guest

    async def create(self, ref: Ref, body: Mapping[str, Any]) -> Object:
        """Create an object."""
        return _object(await self.api.create(ref, NAMESPACE, dict(body)))

    async def get(self, name: str, ref: Ref = PODS) -> Object:
        """An object, a pod unless told otherwise."""
        return _object(await self.api.get(ref, "" if ref == NODES else NAMESPACE, name))

    async def listed(self, ref: Ref, **selectors: str) -> list[Object]:
        """Objects of our namespace."""
        return [_object(each) for each in (await self.api.list(ref, NAMESPACE, **selectors)).items]

    async def start(self, name: str, *containers: Object, **spec: Any) -> Object:
        """Create a pod and wait until it is ready."""
        await self.create(PODS, pod(name, *containers, **spec))
        return await self.ready(name)

    async def ready(self, name: str) -> Object:
        """Wait until a pod is ready."""
        return await self.until(f"{name} is ready", name, lambda pod: condition(pod, "Ready") == "True")

    async def until(self, what: str, name: str, holds: Callable[[Object], Any], ref: Ref = PODS) -> Object:
        """Wait until it is true of a pod; the pod."""

        async def found() -> Object | None:
            pod = await self.get(name, ref)
            return pod if holds(pod) else None

        try:
            pod: Object = await eventually(found)
        except TimeoutError:
            status = (await self.get(name, ref)).get("status")
            text = msgspec.json.format(msgspec.json.encode(status), indent=1).decode()
            raise AssertionError(f"{name}: {what}: not within {PATIENCE_S:g} s: {text}") from None
        return pod

    async def resize(self, name: str, **spec: Any) -> Object:
        """Ask for other resources."""
        patch = {"spec": spec}
        return _object(await self.api.patch(PODS, NAMESPACE, name, patch, kind="strategic", subresource="resize"))

    async def delete(self, *names: str, ref: Ref = PODS) -> None:
        """Delete objects and wait until they are gone."""
        for name in names:
            await self.api.delete(ref, NAMESPACE, name)
        await together(*(eventually(lambda name=name: self._gone(name, ref)) for name in names))  # type: ignore[misc]

    async def _gone(self, name: str, ref: Ref) -> bool:
        try:
            await self.get(name, ref)
        except NotFound:
            return True
        return False

    async def events(self, pod: Object) -> dict[str, int]:
        """How often each reason was told of a pod."""
        told = await self.listed(EVENTS, field_selector=f"involvedObject.uid={pod['metadata']['uid']}")
        counts: collections.Counter[str] = collections.Counter()
        for each in told:
            counts[each["reason"]] += each.get("count") or 1
        return dict(counts)

    async def resize_events(self, pod: Object) -> dict[str, int]:
        """Those that tell of a resize."""
        return {reason: count for reason, count in (await self.events(pod)).items() if reason.startswith("Resize")}

    async def inside(self, script: str) -> str:
        """What a shell in the guest prints."""
        done = await self.guest.run(["sh", "-c", script], patience_s=PATIENCE_S)
        assert done.exit_code == 0, f"{script}: {done.stderr.decode(errors='replace')}"
        return done.stdout.decode().strip()

    async def within(self, pod: Object, container: str, script: str) -> str:
        """What a shell of the guest prints whose root is that of a container."""
        process = f"$(head -n 1 {cgroup(pod, container)}/cgroup.procs)"
        return await self.inside(f"chroot /proc/{process}/root /bin/sh -c {shlex.quote(script)}")

    async def cgroup(self, pod: Object, container: str = "") -> list[str]:
        """cpu.max, cpu.weight and memory.max of a pod or of one of its containers, as the kernel shows them."""
        return (await self.inside(f"cd {cgroup(pod, container)} && cat cpu.max cpu.weight memory.max")).split("\n")


def cgroup(pod: Object, container: str = "") -> str:
    """Where the kernel shows a pod, or the container that runs in it now."""
    tier = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[pod["status"]["qosClass"]]
    run = "/" + run_of(pod, container) if container else ""
    return f"/sys/fs/cgroup/kubepods/{tier}pod{pod['metadata']['uid']}{run}"


def container(name: str = "c", script: str = LOOP, **more: Any) -> Object:
    """A container that runs a shell script."""
    return {"name": name, "image": IMAGE, "command": ["sh", "-c", script], **more}


def pod(name: str, *containers: Object, **spec: Any) -> Object:
    """A pod of our image, without what costs time and is not looked at."""
    usual = {"terminationGracePeriodSeconds": 5, "automountServiceAccountToken": False}
    made = {**usual, "containers": list(containers) or [container()], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made}


def condition(pod: Object, kind: str) -> str:
    """The status of a condition, empty if there is none."""
    found = pod["status"].get("conditions") or ()
    return next((str(each["status"]) for each in found if each["type"] == kind), "")


def runs(pod: Object) -> dict[str, Object]:
    """The statuses of all containers by name."""
    status = pod["status"]
    return {
        each["name"]: each
        for field in ("initContainerStatuses", "containerStatuses")
        for each in status.get(field, ())
    }


def run_of(pod: Object, name: str) -> str:
    """The id of a container's present run."""
    return str(runs(pod)[name]["containerID"]).partition("://")[2]


def lives(pod: Object) -> dict[str, tuple[str, int]]:
    """Which runs a pod consists of and how often each container was restarted."""
    return {name: (run_of(pod, name), each["restartCount"]) for name, each in runs(pod).items()}


async def eventually(
    holds: Callable[[], Awaitable[Any]], patience_s: float = PATIENCE_S, look_s: float = _LOOK_S
) -> Any:
    """Ask until the answer is yes; an API that is away or does not have it yet is no answer."""
    async with asyncio.timeout(patience_s):
        while True:
            with contextlib.suppress(ApiError):
                if answer := await holds():
                    return answer
            await asyncio.sleep(look_s)


async def together(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    """Do all of them at once; every failure counts, not only the first."""
    results = await asyncio.gather(*works, return_exceptions=True)
    failures = [each for each in results if isinstance(each, Exception)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup("several failed", failures)
    return results


def _object(data: bytes) -> Object:
    found: Object = msgspec.json.decode(data)
    return found
