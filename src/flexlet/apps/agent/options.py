"""What the command line says, and the configuration that comes of it."""

import socket
from pathlib import Path

import msgspec

from flexlet.adapters import kubeletconfig
from flexlet.adapters.cgroupfs.check import MOUNT_POINT
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.kubeletconfig import uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.noderesize import settings
from flexlet.core.kubeletconfig.reading import merge
from flexlet.core.machine.sharing import WHOLE, Share
from flexlet.errors import ConfigError


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says; the rest is in the KubeletConfiguration."""

    kubeconfig: Path
    bootstrap_kubeconfig: Path | None = None
    config: Path | None = None
    node_resize_config: Path | None = None
    """How the node follows its machine, where that is not the default."""
    node_name: str = ""
    node_ips: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    root: Path = Path("/var/lib/kubelet")
    listen: tuple[str, int] | None = None
    """Port 0 picks a free one."""
    feature_gates: dict[str, bool] = {}
    cgroup_root: Path = MOUNT_POINT
    share: Share = WHOLE
    """Which part of the host is this agent's, if it is not alone on it."""
    host_ledger: Path | None = None
    """Where the agents of a host write down who uses how much; without it the share is fixed."""
    balloon_pending: bool = False
    """Whether a new node lets nobody in until its balloon has its size."""
    is_guest: bool = False
    """Whether the machine is somebody's own: parts that are offline stay so, unless a file says otherwise."""
    shutdown_on_sigterm: bool = False
    """Whether SIGTERM means that the machine goes down, and pods with it."""
    verbose: bool = False

    @property
    def name(self) -> str:
        """The node's name: as told, else the host's own, as the kubelet spells it."""
        return node_name(self.node_name)

    @property
    def journal(self) -> Path:
        """Where the agent writes down what it does."""
        return self.root / "journal" / "agent.jsonl"


def node_name(told: str) -> str:
    """A node's name: as told, else the host's own, as the kubelet spells it."""
    return (told or socket.gethostname()).lower()


def configuration(options: AgentOptions) -> KubeletConfiguration:
    """The file with the command line on top; ConfigError for what does not go together."""
    overrides: dict[str, object] = {}
    if options.listen is not None:
        host, port = options.listen
        overrides |= {"address": host} | ({"port": port} if port else {})
    if options.feature_gates:
        overrides["featureGates"] = options.feature_gates
    config = merge(kubeletconfig.load(options.config), overrides)
    if options.shutdown_on_sigterm and not uses.shutdown_periods(config):
        raise ConfigError(
            "--shutdown-on-sigterm gives pods no time to end; set shutdownGracePeriod in the configuration"
        )
    _check_share(options, config)
    return config


def is_shared(options: AgentOptions) -> bool:
    """Whether other agents run on this host."""
    return options.share.of > 1 or options.host_ledger is not None


def _check_share(options: AgentOptions, config: KubeletConfiguration) -> None:
    if is_shared(options) and (config.cpu_manager_policy, config.memory_manager_policy) != ("none", "None"):
        raise ConfigError(
            "several agents on one host would each give the same CPUs and NUMA memory away: with --share or "
            "--host-ledger set cpuManagerPolicy none and memoryManagerPolicy None"
        )


def resizing(options: AgentOptions, config: KubeletConfiguration) -> ResizeSettings:
    """Whether the node follows its machine, by the gates, and how, by the file; ConfigError for a wrong one."""
    found = uses.resize_settings(config, settings(kubeletconfig.load_resize(options.node_resize_config)))
    if options.is_guest and options.node_resize_config is None:
        return msgspec.structs.replace(found, online_policy="none")
    return found


def port(options: AgentOptions, config: KubeletConfiguration) -> int:
    """Where to listen; 0 for any free port."""
    return config.port if options.listen is None else options.listen[1]
