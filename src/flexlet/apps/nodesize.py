"""The controller of NodeSizes, wired: in a small cluster beside the others, or alone against any cluster."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from flexlet.adapters import metricspage
from flexlet.api.status import ApiError, NotFound
from flexlet.apps.controllers import Part, Wiring
from flexlet.apps.installing import installed
from flexlet.core import refs
from flexlet.core.nodesize import exposition, names, sights
from flexlet.core.nodesize.autoscaler import AutoscalerDecider, ScalerSettings
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.nodesize.settings import ClusterFacts, Settings
from flexlet.core.nodesize.tally import Tally
from flexlet.engine.nodesize.configurations import Configurations
from flexlet.engine.nodesize.hypervised import HypervisedEnd
from flexlet.engine.nodesize.keeper import MachineKeeper, Opening
from flexlet.engine.nodesize.leadership import Leadership
from flexlet.errors import ConfigError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref
from flexlet.ports.machineend import MachineEnd

Addition = Callable[[Wiring], list[Part]]
"""Wires up another controller beside this one; what it returns runs beside the parts of the wiring."""
Metrics = Callable[[], str]
FOLLOWS: Final = (names.NODE_SIZES, refs.NODES, refs.PODS)
_INSTALLED: Final = {
    "20-nodesize.yaml": Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "30-priority.yaml": Ref("scheduling.k8s.io", "v1", "priorityclasses"),
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to run it."""

    settings: Settings = Settings()
    cluster: ClusterFacts = ClusterFacts()
    autoscale: bool = False
    scaling: ScalerSettings = msgspec.field(default_factory=ScalerSettings)
    lease_namespace: str = ""
    """Where the lease of the leader lies; empty: lead without asking."""
    identity: str = ""
    tally: Tally = msgspec.field(default_factory=Tally)
    """What is counted, whoever asks for it."""


def add_nodesizes(
    wiring: Wiring, cluster: Cluster, clock: Clock, options: Options | None = None, opening: Opening | None = None
) -> list[Part]:
    """Wire up the controller; what is returned runs beside the parts of the wiring."""
    chosen = options or Options()
    decider = NodeSizeDecider(chosen.settings, chosen.cluster, chosen.tally)
    loop = wiring.add(decider, FOLLOWS, pace_s=0.0)
    if chosen.autoscale:
        follows = (*FOLLOWS, refs.NAMESPACES)
        wiring.add(AutoscalerDecider(chosen.scaling), follows)
    return [
        MachineKeeper(decider, opening or open_qmp, clock, loop.wake, wiring.faults),
        Configurations(decider, cluster, clock, loop.wake),
    ]


async def controllers(cluster: Cluster, clock: Clock, options: Options, others: Sequence[Addition] = ()) -> None:
    """Run the controllers until cancelled, as the process that leads if a lease is asked for."""
    await require_kind(cluster)
    if not options.lease_namespace:
        await _run(nodesize_loop(cluster, clock, options, others=others))
        return
    leader = Leadership(cluster, clock, options.lease_namespace, names.LEASE, options.identity)
    try:
        await leader.run(lambda: _run(nodesize_loop(cluster, clock, options, others=others)))
    finally:
        await leader.release()


def nodesize_loop(
    cluster: Cluster,
    clock: Clock,
    options: Options | None = None,
    opening: Opening | None = None,
    others: Sequence[Addition] = (),
) -> list[Part]:
    """Everything to run side by side, on feeds of its own."""
    wiring = Wiring(cluster, clock)
    beside = add_nodesizes(wiring, cluster, clock, options, opening)
    beside += [part for add in others for part in add(wiring)]
    return [*wiring.parts(), *beside]


async def run_controllers(
    cluster: Cluster,
    clock: Clock,
    options: Options,
    listen: tuple[str, int] | None = None,
    ready: Callable[[str], None] = lambda _: None,
    others: Mapping[Addition, Metrics] = MappingProxyType({}),
) -> None:
    """Run until SIGINT or SIGTERM; `ready` is told where metrics are, if anywhere.

    `others` are led and stopped together with this controller, and their metrics are on the same page.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await require_kind(cluster)
    counts: list[Metrics] = [lambda: exposition.render(options.tally), *others.values()]
    pages = {"/metrics": lambda: "".join(each() for each in counts), "/healthz": lambda: "ok"}
    async with contextlib.AsyncExitStack() as stack:
        place = ""
        if listen is not None:
            place = f"{listen[0]}:{await stack.enter_async_context(metricspage.serving(*listen, pages))}"
        ready(place)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(controllers(cluster, clock, options, tuple(others)))
            await stop.wait()
            work.cancel()


async def install(cluster: Cluster) -> None:
    """What a cluster of our own needs: the kind, and the class of balloons."""
    for file, ref in _INSTALLED.items():
        body = msgspec.yaml.decode((resources.files("flexlet") / "manifests" / file).read_bytes())
        await installed(cluster, ref, body)


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


async def facts(read: Callable[[str], Awaitable[bytes]], *, spares_victims: bool) -> ClusterFacts:
    """What the mode guard must know: the server's release is looked up, for its gates the operator vouches."""
    if not spares_victims:
        return ClusterFacts()
    found = msgspec.json.decode(await read("/version"), type=_Version)
    return ClusterFacts(version=sights.release(found.git_version), spares_victims=True)


async def require_kind(cluster: Cluster) -> None:
    """ConfigError if the cluster does not know NodeSizes."""
    try:
        await cluster.list(Ref(*names.NODE_SIZES))
    except NotFound as error:
        raise ConfigError(
            "the cluster has no NodeSize kind: install it with `flexlet print-manifests | kubectl apply -f -`"
        ) from error
    except ApiError as error:
        raise ConfigError(f"cannot list NodeSizes: {error}") from error


@contextlib.asynccontextmanager
async def open_qmp(path: str) -> AsyncIterator[MachineEnd]:
    """A machine by the path of its QMP socket; one of the lab is locked and remembers what it was given."""
    from flexlet.adapters.qemu import machine as qemu
    from flexlet.adapters.qemu.directory import MachineDirectory
    from flexlet.adapters.qemu.hypervisor import QemuHypervisor
    from flexlet.adapters.qemu.monitor import Monitor

    socket = Path(path)
    directory = MachineDirectory(socket.parent)
    if not directory.file("spec.json").exists():
        async with QemuHypervisor(Monitor(socket)) as hypervisor:
            yield HypervisedEnd(hypervisor)
        return
    async with directory.locked(), qemu.hypervisor(directory, 1) as hypervisor:
        yield HypervisedEnd(hypervisor)


async def _run(parts: Iterable[Part]) -> None:
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(part.run())
