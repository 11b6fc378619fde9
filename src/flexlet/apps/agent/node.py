"""The agent on this host: every port with its adapter, every setting from the configuration."""

from pathlib import Path
from typing import Final

import msgspec

from flexlet import __version__
from flexlet.adapters.cgroupfs.oomscores import OomScores
from flexlet.adapters.checkpoints import CheckpointFiles
from flexlet.adapters.hostledger import LedgerFile
from flexlet.adapters.kube.pace import Pace
from flexlet.adapters.meters import Ledger as MeterLedger
from flexlet.adapters.parts import SysfsParts
from flexlet.adapters.podfiles import PodDirectories
from flexlet.adapters.prober import NetworkProber
from flexlet.adapters.sysfs.reader import SysfsHost
from flexlet.adapters.uevents import NetlinkUevents, ProcSwaps
from flexlet.apps.agent import host
from flexlet.apps.agent.options import AgentOptions, is_shared
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.balloon import boot
from flexlet.core.gates import Gates
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.kubeletconfig import uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.sharing import WHOLE
from flexlet.core.node import spread
from flexlet.core.node.addresses import addresses
from flexlet.core.node.settings import NodeSettings, declared_features
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.choices import Choices
from flexlet.engine.agent.counting import Counting
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.ledger import Ledger
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.staticpods import StaticSource
from flexlet.engine.agent.tree import PodTree
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster
from flexlet.ports.journal import Journal
from flexlet.ports.runtime import Runtime

LINKS: Final = Path("/var/log/containers")


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is made from."""

    options: AgentOptions
    config: KubeletConfiguration
    resize: ResizeSettings
    cluster: Cluster
    runtime: Runtime
    cgroups: CgroupTree
    driver: str
    """Who owns the cgroups, as the runtime says, or else the configuration."""
    meters: MeterLedger
    journal: Journal
    clock: Clock
    port: int
    """Where the endpoint listens."""


async def build(around: Surroundings) -> Agent:
    """The agent, not started."""
    config = around.config
    gates = uses.gates(config)
    await host.enforce_reservations(config, around.cgroups)
    return Agent(
        _settings(around, gates),
        await _setup(around, gates),
        _tools(around),
        _view(around),
        _detecting(around),
        _tree(around),
        around.journal,
        around.meters,
        _choices(around, gates),
    )


def _tree(around: Surroundings) -> PodTree:
    settings = uses.cgroup_settings(around.config)
    return PodTree(around.cgroups, around.driver, settings, is_shared=is_shared(around.options))


def _choices(around: Surroundings, gates: Gates) -> Choices:
    config, options = around.config, around.options
    return Choices(
        resize=around.resize,
        enforce="pods" in config.enforce_node_allocatable,
        parallel_pulls=1 if config.serialize_image_pulls else config.max_parallel_image_pulls,
        pull_qps=config.registry_pull_qps,
        pull_burst=config.registry_burst,
        static=_static(config, gates),
        witness=Counting(around.meters),
        event_turn=Pace(config.event_record_qps, config.event_burst, around.clock).turn,
        pod_cidr=config.pod_cidr,
        host_ledger=None if options.host_ledger is None else LedgerFile(options.host_ledger),
        share=options.share,
    )


def _tools(around: Surroundings) -> Tools:
    root, clock = around.options.root, around.clock
    return Tools(
        runtime=around.runtime,
        cgroups=around.cgroups,
        files=PodDirectories(root, LINKS, clock),
        prober=NetworkProber(),
        cluster=around.cluster,
        clock=clock,
        ledger=Ledger(CheckpointFiles(root)),
        host=SysfsHost(),
        scores=OomScores(),
    )


def _view(around: Surroundings) -> SelfView:
    options = around.options
    found = addresses(options.name, node_ips=options.node_ips, routed=host.routed())
    return SelfView(around.runtime, around.clock, found)


def _detecting(around: Surroundings) -> Detecting:
    return Detecting(
        SysfsHost(),
        NetlinkUevents(),
        ProcSwaps(),
        SysfsParts(),
        around.clock,
        around.resize,
        str(around.options.root),
        reserved=uses.reserved(around.config),
        sway=spread.share(around.options.name, 0) * 2 - 1,
    )


def _static(config: KubeletConfiguration, gates: Gates) -> StaticSource | None:
    """What reads manifests is loaded only where there are some."""
    if not config.static_pod_path:
        return None
    from flexlet.adapters.manifests.folder import ManifestFolder
    from flexlet.apps.podrules import ServerRules

    folder = ManifestFolder(config.static_pod_path, float(config.file_check_frequency))
    return StaticSource(folder, ServerRules(gates.enabled))


def _settings(around: Surroundings, gates: Gates) -> NodeSettings:
    options, config = around.options, around.config
    return NodeSettings(
        name=options.name,
        register=config.register_node,
        labels=options.labels,
        taints=boot.taints(config.register_with_taints, pending=options.balloon_pending),
        provider_id=config.provider_id,
        node_ips=options.node_ips,
        port=around.port,
        max_pods=config.max_pods,
        pods_per_core=config.pods_per_core,
        reservation=_reservation(around),
        agent=__version__,
        max_images=config.node_status_max_images,
        declared_features=declared_features(gates),
        compute_s=float(config.node_status_update_frequency),
        report_s=float(config.node_status_report_frequency),
        lease_s=config.node_lease_duration_seconds,
    )


def _reservation(around: Surroundings) -> Reservation:
    """With a ledger the whole host is offered, and the ledger says what may be used of it."""
    options = around.options
    share = options.share if options.host_ledger is None else WHOLE
    return msgspec.structs.replace(uses.reservation(around.config), share=share)


async def _setup(around: Surroundings, gates: Gates) -> NodeSetup:
    options, config = around.options, around.config
    version = await around.runtime.version()
    return NodeSetup(
        name=options.name,
        cgroups=uses.cgroup_settings(config),
        gates=gates,
        managers=uses.manager_settings(config),
        driver=around.driver,
        root=str(options.root),
        pod_logs=config.pod_logs_dir,
        runtime_name=version.name,
        started_at=around.clock.now(),
        cluster_domain=config.cluster_domain,
        cluster_dns=config.cluster_dns,
        resolv_conf=host.text(Path(config.resolv_conf)) if config.resolv_conf else "",
        hosts_file=host.text(Path("/etc/hosts")),
        seccomp_default=config.seccomp_default,
        max_restart_period_s=float(config.crash_loop_back_off.max_container_restart_period or 300),
        max_pods=config.max_pods,
        thermal_throttle_paths=host.throttles(),
        unsafe_sysctls=config.allowed_unsafe_sysctls,
        apparmor=host.has_apparmor(),
    )
