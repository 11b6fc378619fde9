"""``flexlet up``: API server, scheduler, controllers and nodes in one process (a VM node runs beside it).

Parts start in the order in which they need each other and stop in the reverse one. Whatever fails takes the whole
process down with its reason: half a cluster would only confuse.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from flexlet import __version__
from flexlet.adapters.sim.launcher import SimLaunchers
from flexlet.apiserver.auth.files import write_private
from flexlet.apiserver.auth.kubeconfig import write_kubeconfig
from flexlet.apiserver.joining import allow, node_kubeconfig
from flexlet.apiserver.proxy.target import KUBELET_PORT
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.apps import nodesize, vmnode, vms
from flexlet.apps.controllers import Wiring, add_workloads
from flexlet.core import refs
from flexlet.core.gates import parse_switches
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import DECLARED_FEATURES, Machine
from flexlet.core.lab.spec import MachineSpec
from flexlet.core.nodesize.settings import Settings as BalloonSettings
from flexlet.ports.clock import Clock
from flexlet.ports.vmguest import GuestLinks

if TYPE_CHECKING:
    from flexlet.apps.lab import Machine as LabMachine

NODE_GATES: Final = "InPlaceNodeResourceResize=true"
"""What is on in nodes of a cluster that is for trying things."""
Progress = Callable[[str], None]
T = TypeVar("T")


class Hollow(msgspec.Struct, frozen=True):
    """How many simulated nodes, and how big each is."""

    count: int = 1
    machine: Machine = Machine()

    @property
    def names(self) -> tuple[str, ...]:
        """``hollow-0``, ``hollow-1`` ...; as wide as the last one, so that they sort."""
        width = len(str(max(self.count - 1, 0)))
        return tuple(f"hollow-{index:0{width}}" for index in range(self.count))


class Vm(msgspec.Struct, frozen=True):
    """One node in a virtual machine; the machine is called as the node is."""

    spec: MachineSpec
    gates: str = NODE_GATES
    resize: bytes = b""
    """A NodeResizeConfiguration, empty for none."""
    has_vms: bool = False
    """Whether it brings along what virtual machines in it need."""


class Here(msgspec.Struct, frozen=True):
    """This host as the node."""

    name: str = ""
    gates: str = NODE_GATES
    resize: Path | None = None
    """Where a NodeResizeConfiguration lies."""


Nodes = Hollow | Vm | Here


class Running(NamedTuple):
    """A cluster that is up; `machine` is that of a VM node."""

    server: ApiServer
    machine: "LabMachine | None" = None


async def up(
    settings: Settings,
    nodes: Nodes,
    kubeconfig: Path,
    clock: Clock,
    ready: Callable[[ApiServer], None],
    progress: Progress = lambda _: None,
) -> None:
    """Run until SIGINT or SIGTERM; `ready` is called once, when clients can connect and the nodes are there."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with cluster(settings, nodes, kubeconfig, clock, progress, stop) as running:
        if not stop.is_set():
            ready(running.server)
        await stop.wait()


@contextlib.asynccontextmanager
async def cluster(
    settings: Settings, nodes: Nodes, kubeconfig: Path, clock: Clock, progress: Progress, stop: asyncio.Event
) -> AsyncIterator[Running]:
    """A whole cluster for as long as the block lasts; `stop` cuts the waiting for its nodes short."""
    async with serving(reaching(settings, nodes), clock) as server:
        write_kubeconfig(kubeconfig, server.kubeconfig())
        async with asyncio.TaskGroup() as group:
            wiring = Wiring(server.cluster, clock, server.faults)
            add_workloads(wiring, server.rest.registry.kinds())
            if isinstance(nodes, Hollow) and nodes.count:
                wiring.add(_fleet(nodes, settings), (refs.NODES, refs.PODS), pace_s=0.0)
            await nodesize.install(server.cluster)
            await vms.install(server.cluster)
            sizing = nodesize.add_nodesizes(wiring, server.cluster, clock, _sizing(nodes))
            sizing += vms.add_vms(wiring, clock, vms.Options(), _links(server, nodes, clock, kubeconfig))
            tasks = [group.create_task(part.run()) for part in (*wiring.parts(), *sizing)]
            async with _real_node(server, nodes, clock, progress, stop) as machine:
                yield Running(server, machine)
            for task in tasks:
                task.cancel()


def reaching(settings: Settings, nodes: Nodes) -> Settings:
    """Real nodes are on this host: on its loopback. One in a VM sees this host under an address of its own."""
    match nodes:
        case Hollow():
            return settings
        case Vm():
            name, names = nodes.spec.name, (*settings.names, vmnode.HOST_SEEN_FROM_GUEST)
        case Here():
            from flexlet.apps.agent.options import node_name

            name, names = node_name(nodes.name), settings.names
    hosts = {name: vmnode.LOOPBACK, **settings.node_hosts}
    return msgspec.structs.replace(settings, names=names, node_hosts=hosts)


def _sizing(nodes: Nodes) -> nodesize.Options:
    """Balloons are made of what a machine brings along; it need not reach a registry."""
    if not isinstance(nodes, Vm):
        return nodesize.Options()
    from flexlet.adapters.image.oci import PAUSE

    return nodesize.Options(settings=BalloonSettings(image=PAUSE))


def _links(server: ApiServer, nodes: Nodes, clock: Clock, path: Path) -> GuestLinks:
    """Launchers on hollow nodes are simulated; those of other nodes are real, also of nodes that join."""
    from flexlet.adapters.kube import kubeconfig as config
    from flexlet.adapters.vmlink.execlink import ExecLinks
    from flexlet.adapters.vmlink.picked import PickedLinks

    real = ExecLinks(lambda: config.load(path), "flexlet-up")
    hollow = nodes.names if isinstance(nodes, Hollow) else ()
    return PickedLinks(server.cluster, hollow, SimLaunchers(server.cluster, clock), real)


def _fleet(hollow: Hollow, settings: Settings) -> Fleet:
    features = [name for name in DECLARED_FEATURES if settings.gates[name]]
    return Fleet(hollow.names, hollow.machine, __version__, features)


@contextlib.asynccontextmanager
async def _real_node(
    server: ApiServer, nodes: Nodes, clock: Clock, progress: Progress, stop: asyncio.Event
) -> AsyncIterator["LabMachine | None"]:
    match nodes:
        case Vm():
            progress(f"API server at {server.url}; the node follows")
            await allow(server.cluster)
            async with _vm(server, nodes, clock, progress, stop) as machine:
                yield machine
        case Here():
            async with _here(server, nodes, clock):
                yield None
        case Hollow():
            yield None


@contextlib.asynccontextmanager
async def _vm(
    server: ApiServer, vm: Vm, clock: Clock, progress: Progress, stop: asyncio.Event
) -> AsyncIterator["LabMachine | None"]:
    """A booted machine whose node is ready; asked to stop meanwhile, it is left without waiting."""
    from flexlet.apps.lab import running

    name, port = vm.spec.name, vmnode.free_port()
    url = f"https://{vmnode.HOST_SEEN_FROM_GUEST}:{server.url.rpartition(':')[2]}"
    files = vmnode.config_files(
        name,
        node_kubeconfig(server, name, url),
        server.pki.ca_pem.encode(),
        vmnode.kubelet_configuration(port, vmnode.CERTIFIED),
        vm.gates,
        vm.resize,
    )
    async with contextlib.AsyncExitStack() as stack:
        starting = running(vm.spec, files, {port: port}, progress, data=server.settings.data, has_vms=vm.has_vms)
        machine = await unless(stop, stack.enter_async_context(starting))
        if machine is not None:
            progress(f"waiting for node {name}")
            await unless(stop, vmnode.ready(server.cluster, name, clock))
            await unless(stop, vmnode.serves(port, clock))
        yield machine


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Do it, unless told to stop before it is done."""
    doing = asyncio.ensure_future(work)
    told = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({doing, told}, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        for each in (doing, told):
            if not each.done():
                each.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await each


@contextlib.asynccontextmanager
async def _here(server: ApiServer, here: Here, clock: Clock) -> AsyncIterator[None]:
    """This host's own containerd and cgroups."""
    from flexlet.apps.agent import AgentOptions, agent

    options = AgentOptions(
        kubeconfig=server.settings.data / "node.kubeconfig",
        config=_configuration(server),
        node_name=here.name,
        feature_gates=parse_switches(here.gates),
        node_resize_config=here.resize,
        is_guest=True,
    )
    write_kubeconfig(options.kubeconfig, node_kubeconfig(server, options.name, server.url).decode())
    async with agent(options, clock) as tasks:
        await vmnode.ready(server.cluster, options.name, clock)
        await vmnode.serves(KUBELET_PORT, clock)
        yield
        for task in tasks:
            task.cancel()


def _configuration(server: ApiServer) -> Path:
    """The node's KubeletConfiguration: it knows this server by its authority, and is known by its certificate."""
    data = server.settings.data
    authority, config = data / "node-ca.crt", data / "node.config.yaml"
    write_private(authority, server.pki.ca_pem.encode())
    write_private(config, msgspec.json.encode(vmnode.known_by(authority) | vmnode.CERTIFIED))
    return config
