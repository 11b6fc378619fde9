"""``flexlet agent``: this host as a node of a cluster.

Wires the real adapters to the agent: CRI, cgroup v2, /proc and /sys, the API over HTTPS, the endpoint. What cannot
work is said before anything is touched: cgroup v1, a runtime that does not answer, broken checkpoints.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import msgspec

from flexlet.adapters import cri, kubeletconfig
from flexlet.adapters.cgroupfs.check import MOUNT_POINT, require_cgroup2
from flexlet.adapters.cgroupfs.tree import CgroupfsTree
from flexlet.adapters.checkpoints import CheckpointFiles
from flexlet.adapters.clock import SystemClock
from flexlet.adapters.journal import JournalFile
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.meters import Ledger as MeterLedger
from flexlet.adapters.nodeserver.endpoint import Endpoint
from flexlet.adapters.nodeserver.endpoint import Settings as EndpointSettings
from flexlet.adapters.nodeserver.server import NodeServer
from flexlet.adapters.nodeserver.tls import serving_context
from flexlet.adapters.podfiles import PodDirectories
from flexlet.adapters.prober import NetworkProber
from flexlet.adapters.sysfs.reader import SysfsHost
from flexlet.apps import nodecredentials
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.gates import Gates
from flexlet.core.kubeletconfig import uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.reading import merge
from flexlet.core.node.addresses import addresses
from flexlet.core.node.settings import NodeSettings, declared_features
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.ledger import Ledger
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.tree import PodTree
from flexlet.engine.agent.views import AgentViews
from flexlet.ports.clock import Clock
from flexlet.ports.runtime import Runtime

HOT_PLUG: Final = "NodeResourceHotPlug"
_GROWING_S: Final = 1.0
_STEADY_S: Final = 10.0

log: Final = logging.getLogger(__name__)


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says; the rest is in the KubeletConfiguration."""

    kubeconfig: Path
    bootstrap_kubeconfig: Path | None = None
    config: Path | None = None
    node_name: str = ""
    node_ips: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    root: Path = Path("/var/lib/kubelet")
    listen: tuple[str, int] | None = None
    feature_gates: dict[str, bool] = {}
    cgroup_root: Path = MOUNT_POINT

    @property
    def name(self) -> str:
        """The node's name: as told, else the host's own, as the kubelet spells it."""
        return (self.node_name or socket.gethostname()).lower()


def configuration(options: AgentOptions) -> KubeletConfiguration:
    """The file with the command line on top."""
    overrides: dict[str, object] = {}
    if options.listen is not None:
        overrides |= {"address": options.listen[0], "port": options.listen[1]}
    if options.feature_gates:
        overrides["featureGates"] = options.feature_gates
    return merge(kubeletconfig.load(options.config), overrides)


async def run_agent(options: AgentOptions, ready: Callable[[str], None]) -> None:
    """Be a node until SIGINT or SIGTERM; containers run on. `ready` is told the node's name once."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with agent(options, SystemClock()) as tasks:
        ready(options.name)
        await stop.wait()
        for task in tasks:
            task.cancel()


@contextlib.asynccontextmanager
async def agent(options: AgentOptions, clock: Clock) -> AsyncIterator[list[asyncio.Task[None]]]:
    """A running agent; cancelling its tasks ends it."""
    config = configuration(options)
    require_cgroup2(options.cgroup_root)
    pki = options.root / "pki"
    loaded = await nodecredentials.load_credentials(
        options.kubeconfig,
        options.bootstrap_kubeconfig,
        pki,
        options.name,
        clock,
        rotate=config.rotate_certificates,
    )
    runtime = await cri.connect(
        config.container_runtime_endpoint,
        image_endpoint=config.image_service_endpoint,
        patience_s=float(config.runtime_request_timeout),
    )
    async with (
        contextlib.aclosing(_Closing(runtime.close)),
        HttpCluster(loaded.credentials, "flexlet-agent") as cluster,
    ):
        node = await _node(options, config, cluster, runtime, clock)
        await node.start()
        keeper = nodecredentials.client_keeper(loaded, cluster, options.name, clock)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(node.run())]
            if keeper is not None:
                tasks.append(group.create_task(keeper.run()))
            if config.enable_server:
                server = _server(options, config, node, runtime, cluster, clock)
                tasks.append(group.create_task(server.serve()))
            yield tasks


class _Closing:
    """Gives a coroutine function the shape that aclosing wants."""

    def __init__(self, close: Callable[[], object]) -> None:
        self._close = close

    async def aclose(self) -> None:
        await self._close()  # type: ignore[misc]


async def _node(
    options: AgentOptions, config: KubeletConfiguration, cluster: HttpCluster, runtime: Runtime, clock: Clock
) -> Agent:
    gates = uses.gates(config)
    driver = await runtime.cgroup_driver() or config.cgroup_driver
    cgroups = CgroupfsTree(options.cgroup_root)
    grows = gates.enabled.get(HOT_PLUG, False)
    tools = Tools(
        runtime=runtime,
        cgroups=cgroups,
        files=PodDirectories(options.root, Path("/var/log/containers"), clock),
        prober=NetworkProber(),
        cluster=cluster,
        clock=clock,
        ledger=Ledger(CheckpointFiles(options.root)),
    )
    found = addresses(options.name, node_ips=options.node_ips, routed=_routed())
    view = SelfView(
        SysfsHost(), runtime, clock, str(options.root), found, machine_s=_GROWING_S if grows else _STEADY_S
    )
    tree = PodTree(
        cgroups,
        driver,
        uses.reservation(config),
        uses.cgroup_settings(config),
        enforce="pods" in config.enforce_node_allocatable,
    )
    return Agent(
        _settings(options, config, gates),
        await _setup(options, config, gates, runtime, driver, clock),
        tools,
        view,
        tree,
        JournalFile(options.root / "journal" / "agent.jsonl"),
        parallel_pulls=1 if config.serialize_image_pulls else config.max_parallel_image_pulls,
        grows=grows,
    )


def _settings(options: AgentOptions, config: KubeletConfiguration, gates: Gates) -> NodeSettings:
    return NodeSettings(
        name=options.name,
        register=config.register_node,
        labels=options.labels,
        taints=config.register_with_taints,
        provider_id=config.provider_id,
        node_ips=options.node_ips,
        port=config.port,
        max_pods=config.max_pods,
        pods_per_core=config.pods_per_core,
        reservation=uses.reservation(config),
        max_images=config.node_status_max_images,
        declared_features=declared_features(gates),
        compute_s=float(config.node_status_update_frequency),
        report_s=float(config.node_status_report_frequency),
        lease_s=config.node_lease_duration_seconds,
    )


async def _setup(
    options: AgentOptions,
    config: KubeletConfiguration,
    gates: Gates,
    runtime: Runtime,
    driver: str,
    clock: Clock,
) -> NodeSetup:
    version = await runtime.version()
    return NodeSetup(
        name=options.name,
        cgroups=uses.cgroup_settings(config),
        gates=gates,
        driver=driver,
        root=str(options.root),
        pod_logs=config.pod_logs_dir,
        runtime_name=version.name,
        started_at=clock.now(),
        cluster_domain=config.cluster_domain,
        cluster_dns=config.cluster_dns,
        resolv_conf=_text(Path(config.resolv_conf)),
        hosts_file=_text(Path("/etc/hosts")),
        seccomp_default=config.seccomp_default,
        max_restart_period_s=float(config.crash_loop_back_off.max_container_restart_period or 300),
        max_pods=config.max_pods,
        thermal_throttle_paths=_throttles(),
    )


def _server(
    options: AgentOptions,
    config: KubeletConfiguration,
    node: Agent,
    runtime: Runtime,
    cluster: HttpCluster,
    clock: Clock,
) -> NodeServer:
    webhook = config.authentication.webhook
    settings = EndpointSettings(
        node_name=options.name,
        address=config.address,
        port=config.port,
        health_address=config.healthz_bind_address,
        health_port=config.healthz_port,
        allows_anonymous=config.authentication.anonymous.enabled,
        reviews_tokens=webhook.enabled,
        authorizes=config.authorization.mode == "Webhook",
        debugging_handlers=config.enable_debugging_handlers,
        system_log_handler=config.enable_system_log_handler,
    )
    shown = msgspec.json.encode(uses.to_configz(config))
    views = AgentViews(lambda: node.loop.world, node.machine, shown, node.health)
    meters = MeterLedger()
    endpoint = Endpoint(settings, views, runtime, node.tools.cgroups, cluster, meters, clock)
    pair = nodecredentials.serving_pair(config, options.root / "pki", options.name, clock)
    authority = config.authentication.x509.client_ca_file
    context = serving_context(
        pair.certificate.read_bytes(),
        pair.key.read_bytes(),
        Path(authority).read_bytes() if authority else b"",
    )
    return NodeServer.open(settings, endpoint, context)


def _routed() -> tuple[str, ...]:
    """The address on the way to everywhere else; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ()
        return (str(probe.getsockname()[0]),)


def _throttles() -> tuple[str, ...]:
    found = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle")
    return tuple(sorted(str(path) for path in found))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        log.warning("cannot read %s: %s", path, error.strerror)
        return ""
