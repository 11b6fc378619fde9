"""An agent's life: connect, look, serve, and end.

SIGINT and SIGTERM end the agent and nothing else; containers run on. Only if it was told so, SIGTERM means that
the machine goes down: then pods end first, in order, and a second signal ends the wait. SIGHUP says that the
machine may have changed: whoever plugs knows it before anybody could notice.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from flexlet.adapters import cri
from flexlet.adapters.cgroupfs.check import require_cgroup2
from flexlet.adapters.cgroupfs.tree import CgroupfsTree
from flexlet.adapters.clock import SystemClock
from flexlet.adapters.journal import JournalFile
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.kube.pace import Pace
from flexlet.adapters.meters import Ledger
from flexlet.adapters.nodeserver.endpoint import Endpoint
from flexlet.adapters.nodeserver.server import NodeServer
from flexlet.adapters.systemd import Supervisor
from flexlet.adapters.units.manager import SystemdManager
from flexlet.adapters.units.tree import SystemdTree
from flexlet.apps import nodecredentials
from flexlet.apps.agent import duties, endpoint, host, logs, metrics, node
from flexlet.apps.agent.endpoint import Serving
from flexlet.apps.agent.node import Surroundings
from flexlet.apps.agent.options import AgentOptions, configuration, port, resizing
from flexlet.apps.nodecredentials import NodeCredentials
from flexlet.core.agent.world import World
from flexlet.core.cgroups.paths import SYSTEMD
from flexlet.core.kubeletconfig import uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.machine.machine import Machine
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.timing import counted, timed
from flexlet.engine.agent.views import AgentViews
from flexlet.ports.clock import Clock

log: Final = logging.getLogger(__name__)

Task = Callable[[], Coroutine[Any, Any, None]]


class Running(msgspec.Struct, frozen=True):
    """An agent that runs."""

    node: Agent
    around: Surroundings
    tasks: list[asyncio.Task[None]]

    def cancel(self) -> None:
        """End it."""
        for task in self.tasks:
            task.cancel()


async def run_agent(options: AgentOptions, ready: Callable[[str], None]) -> None:
    """Be a node until a signal ends it; `ready` is told the node's name once."""
    config, clock = configuration(options), SystemClock()
    logs.configure(config.logging, verbose=options.verbose)
    host.set_oom_score(config.oom_score_adj)
    if uses.shutdown_periods(config) and not options.shutdown_on_sigterm:
        log.warning("shutdownGracePeriod has no effect without --shutdown-on-sigterm: SIGTERM leaves pods alone")
    supervisor, signals = Supervisor(), _Signals()
    async with _running(options, config, clock) as running, asyncio.TaskGroup() as group:
        watchdog = group.create_task(pet(supervisor, running.node.loop, clock))
        signals.hung_up = running.node.following.look_again
        ready(options.name)
        supervisor.tell("READY=1")
        number = await signals.next()
        supervisor.tell("STOPPING=1")
        if number == signal.SIGTERM and options.shutdown_on_sigterm:
            await _either(duties.shutdown(running.around, running.node).run(), signals.next())
        watchdog.cancel()
        running.cancel()


@contextlib.asynccontextmanager
async def agent(options: AgentOptions, clock: Clock) -> AsyncIterator[list[asyncio.Task[None]]]:
    """A running agent; cancelling its tasks ends it."""
    async with _running(options, configuration(options), clock) as running:
        yield running.tasks


async def pet(supervisor: Supervisor, loop: AgentLoop, clock: Clock) -> None:
    """Tell the supervisor that we are alive, as long as the loop goes its rounds."""
    if supervisor.watchdog_s is None:
        return
    while True:
        before = loop.rounds
        loop.tell(lambda world: world)
        await clock.sleep(supervisor.watchdog_s / 2)
        if loop.rounds > before:
            supervisor.tell("WATCHDOG=1")


@contextlib.asynccontextmanager
async def _running(options: AgentOptions, config: KubeletConfiguration, clock: Clock) -> AsyncIterator[Running]:
    resize = resizing(options, config)
    require_cgroup2(options.cgroup_root)
    host.require(config)
    loaded = await _credentials(options, config, clock)
    runtime = await cri.connect(
        config.container_runtime_endpoint,
        image_endpoint=config.image_service_endpoint,
        patience_s=float(config.runtime_request_timeout),
    )
    pace = Pace(config.kube_api_qps, config.kube_api_burst, clock)
    meters = Ledger()
    async with runtime, HttpCluster(loaded.credentials, "flexlet-agent", pace) as cluster:
        with (
            contextlib.closing(CgroupfsTree(options.cgroup_root)) as files,
            contextlib.closing(SystemdManager()) as systemd,
            contextlib.closing(JournalFile(options.journal)) as journal,
            contextlib.closing(Serving(options, config, clock)) as serving,
        ):
            driver = await runtime.cgroup_driver() or config.cgroup_driver
            around = Surroundings(
                options=options,
                config=config,
                resize=resize,
                cluster=counted(cluster, meters, clock, urlsplit(loaded.credentials.server).netloc),
                runtime=timed(runtime, meters, clock),
                cgroups=SystemdTree(files, systemd) if driver == SYSTEMD else files,
                driver=driver,
                meters=meters,
                journal=journal,
                clock=clock,
                port=port(options, config),
            )
            made, beside = await _assembled(around, serving, loaded, cluster)
            await made.start()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(each()) for each in (made.run, *beside)]
                yield Running(made, around, tasks)


async def _credentials(options: AgentOptions, config: KubeletConfiguration, clock: Clock) -> NodeCredentials:
    return await nodecredentials.load_credentials(
        options.kubeconfig,
        options.bootstrap_kubeconfig,
        options.root / "pki",
        options.name,
        clock,
        rotate=config.rotate_certificates,
    )


async def _assembled(
    around: Surroundings, serving: Serving, loaded: NodeCredentials, cluster: HttpCluster
) -> tuple[Agent, list[Task]]:
    """The agent, and what runs beside it: the endpoint and the keepers of its certificates."""
    beside: list[Task] = []
    # The endpoint is bound first, for the node tells the cluster its real port; it answers later.
    shown = _Shown()
    if around.config.enable_server:
        server = _bound(around, serving, shown)
        around = msgspec.structs.replace(around, port=server.port)
        beside.append(server.serve)
    made = await node.build(around)
    shown.node = made
    await duties.take_on(around, made)
    client = nodecredentials.client_keeper(loaded, cluster, around.options.name, around.clock)
    served = serving.keeper(cluster, lambda: made.decider.published) if beside else None
    if served is not None:
        made.node_seen = served.wake
    metrics.describe(around, made, client, served)
    return made, [*beside, *(keeper.run for keeper in (client, served) if keeper is not None)]


class _Shown:
    """The agent that the endpoint shows; it is there before anybody is answered."""

    node: Agent

    def world(self) -> World:
        return self.node.loop.world

    def machine(self) -> Machine:
        return self.node.machine()

    def health(self) -> str:
        return self.node.health()


def _bound(around: Surroundings, serving: Serving, shown: _Shown) -> NodeServer:
    settings = endpoint.settings(around.options, around.config, around.port)
    views = AgentViews(shown.world, shown.machine, endpoint.shown(around.config), shown.health)
    answers = Endpoint(
        settings, views, around.runtime, around.cgroups, around.cluster, around.meters, around.clock
    )
    return serving.open(settings, answers)


async def _either(*work: Coroutine[Any, Any, object]) -> None:
    """Until one of them is done."""
    doing = [asyncio.ensure_future(each) for each in work]
    await asyncio.wait(doing, return_when=asyncio.FIRST_COMPLETED)
    for each in doing:
        each.cancel()


class _Signals:
    """Signals that end the agent, one after the other, and the one that does not."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[int] = asyncio.Queue()
        self.hung_up: Callable[[], None] = lambda: None
        """Called for each SIGHUP; an agent that only just starts looks at everything anyway."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._came.put_nowait, number)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up)

    async def next(self) -> int:
        return await self._came.get()

    def _hang_up(self) -> None:
        self.hung_up()
