"""What the agent does beside its pods: eviction, images, logs, leftovers, and the shutdown of the machine."""

from pathlib import Path

from flexlet.adapters.logfiles.leftovers import LogLeftovers
from flexlet.adapters.logfiles.rotation import LogRotation
from flexlet.adapters.nodeserver.usage import Usage
from flexlet.adapters.notices import NoticeBoard
from flexlet.api.quantity import Quantity
from flexlet.apps.agent import host
from flexlet.apps.agent.node import LINKS, Surroundings
from flexlet.core.eviction.evictor import EvictionSettings
from flexlet.core.imagegc import ImagePolicy
from flexlet.core.kubeletconfig import uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.thresholds import thresholds
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.chores import LogChore, Reclaiming, Sweeping
from flexlet.engine.agent.images import ImageKeeper
from flexlet.engine.agent.pressure import Pressure
from flexlet.engine.agent.resizing.noticing import Noticing
from flexlet.engine.agent.shutdown import NodeShutdown
from flexlet.errors import RuntimeFault


async def take_on(around: Surroundings, node: Agent) -> None:
    """Give the agent its duties."""
    clock, meters, config = around.clock, around.meters, around.config
    usage = Usage(node.tools.cgroups, around.runtime, clock)
    images = ImageKeeper(
        image_policy(config), around.runtime, usage, node.loop, node.selfview, node.machine, clock, meters
    )
    reclaim = Reclaiming(node.loop, node.hands, images)
    eviction = eviction_settings(config, own_image_fs=await _own_image_fs(around))
    rotation = LogRotation(
        around.runtime,
        clock,
        Quantity.parse(config.container_log_max_size).value,
        config.container_log_max_files,
    )
    node.take_on(
        Pressure(eviction, usage, node.loop, node.selfview, node.machine, clock, meters, reclaim),
        images,
        LogChore(node.loop, rotation, clock, float(config.container_log_monitor_interval)),
        Sweeping(
            node.loop,
            node.tools,
            node.watching,
            lambda: (pod.uid for pod in node.static.pods),
            LogLeftovers(Path(config.pod_logs_dir), LINKS),
        ),
    )
    _give_notice(around, node)


def _give_notice(around: Surroundings, node: Agent) -> None:
    """Others on this host hear of each size, if there is more than one."""
    board = NoticeBoard(around.options.root)
    if around.resize.plug:
        node.take_on(Noticing(around.options.name, node.following, board, around.clock))
    else:
        board.clear()


def shutdown(around: Surroundings, node: Agent) -> NodeShutdown:
    """Ends the pods because the machine goes down."""
    periods = uses.shutdown_periods(around.config)
    return NodeShutdown(
        periods, node.loop, node.selfview, around.clock, around.meters, lambda: node.decider.published
    )


def image_policy(config: KubeletConfiguration) -> ImagePolicy:
    """When images go."""
    return ImagePolicy(
        high_percent=config.image_gc_high_threshold_percent,
        low_percent=config.image_gc_low_threshold_percent,
        min_age_s=float(config.image_minimum_gc_age),
        max_age_s=float(config.image_maximum_gc_age),
    )


def eviction_settings(config: KubeletConfiguration, *, own_image_fs: bool) -> EvictionSettings:
    """When pods go."""
    return EvictionSettings(
        thresholds=thresholds(config),
        transition_s=float(config.eviction_pressure_transition_period),
        max_pod_grace_s=config.eviction_max_pod_grace_period,
        own_image_fs=own_image_fs,
    )


async def _own_image_fs(around: Surroundings) -> bool:
    """Whether images lie on another disk than the pods' files."""
    try:
        found = await around.runtime.image_filesystems()
    except RuntimeFault:
        return False
    return any(not host.same_filesystem(around.options.root, Path(each.mountpoint)) for each in found)
