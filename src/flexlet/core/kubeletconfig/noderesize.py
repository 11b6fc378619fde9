"""The file in which an administrator says how a node follows its machine: kind NodeResizeConfiguration.

It is flexlet's own, beside the KubeletConfiguration, because Kubernetes has no such fields; whether the node
follows at all is a matter of feature gates. Every field may be left out; `noderesizereading` reads them.
"""

from typing import Any, Final, Literal

import msgspec

from flexlet.api.duration import Duration
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.hotplug.settings import CpuRule, Evict, Order, ResizeSettings
from flexlet.core.kubeletconfig.scalars import plain
from flexlet.core.machine.parts import OnlineAs

API_VERSION: Final = "flexlet.io/v1alpha1"
KIND: Final = "NodeResizeConfiguration"
META: Final = {"apiVersion": API_VERSION, "kind": KIND}
_D: Final = ResizeSettings()


class UnplugConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What becomes of pods that no longer fit on a smaller machine."""

    evict: Evict = _D.evict
    quiet_period: Duration = Duration(_D.evict_quiet_s)


class NodeResizeConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Names and defaults of node-resize.md §2.3, §2.5 and §4; durations as in a KubeletConfiguration."""

    quiet_period: Duration = Duration(_D.quiet_s)
    """How long nothing more must have happened before a change is acted upon."""
    shrink_quiet_period: Duration = Duration(_D.shrink_quiet_s)
    """The same when something became less: pods may be short of it already."""
    max_delay: Duration = Duration(_D.max_delay_s)
    """After this long a change is acted upon, though more keep coming."""
    settle_period: Duration = Duration(_D.settle_s)
    """What follows within this time and goes the same way is the same generation: a DIMM comes in blocks."""
    poll_interval: Duration = Duration(_D.poll_s)
    """How often to look, for what the kernel tells nobody; a tenth more or less, by node."""
    confirm_reads: int = _D.confirm_reads
    """How often a startling size (below half, or below what is reserved) must have been read."""
    confirm_period: Duration = Duration(_D.confirm_s)
    """Over at least how long."""
    memory_jitter_bytes: Quantity = Quantity.of_bytes(_D.jitter)
    """Growth of memory below this is left for later."""

    online_policy: Literal["auto", "none", "cpu", "memory", "all"] = _D.online_policy
    """Which half-plugged parts the node brings online: `auto` leaves to the host what the host does itself."""
    online_grace: Duration = Duration(_D.online_grace_s)
    """How long the host has to do it first."""
    memory_online_as: OnlineAs = _D.memory_online_as
    """What is written into the state of a block of memory."""
    keep_offline: tuple[str, ...] = _D.keep_offline
    """Parts that stay offline: `cpu3`, `memory40`."""

    order: Order = _D.order
    """Who stays when the node shrinks: `priority`, or `creation` as a restarted kubelet would have it."""
    cpu: CpuRule = _D.cpu
    """Whether pods have to go for want of CPU: `Strict`, or `Tolerate` and they run slower."""
    unplug: UnplugConfiguration = UnplugConfiguration()
    """`evict` pods that no longer fit: `never`, `persistent` (after a `quietPeriod`) or `immediate`."""
    max_grace_seconds: int = _D.max_grace_s
    """The longest that a pod gets to end when its place is gone already."""
    squeeze_timeout: Duration = Duration(_D.squeeze_s)
    """How long pods may use more than there is before they are held to it by force."""

    prepare_timeout: Duration = Duration(_D.prepare_s)
    """How long an announced unplug may take to get ready for, and is then waited for."""
    offline_timeout: Duration = Duration(_D.offline_s)
    """How long the kernel may take to let go of one part."""
    eviction_retry_period: Duration = Duration(_D.evict_again_s)
    """How soon an eviction that a disruption budget forbids is asked for again."""


def settings(config: NodeResizeConfiguration) -> ResizeSettings:
    """In the terms of those who decide; the gates are not said here."""
    return ResizeSettings(
        quiet_s=float(config.quiet_period),
        shrink_quiet_s=float(config.shrink_quiet_period),
        max_delay_s=float(config.max_delay),
        settle_s=float(config.settle_period),
        poll_s=float(config.poll_interval),
        confirm_reads=config.confirm_reads,
        confirm_s=float(config.confirm_period),
        jitter=Bytes(config.memory_jitter_bytes.value),
        online_policy=config.online_policy,
        online_grace_s=float(config.online_grace),
        memory_online_as=config.memory_online_as,
        keep_offline=config.keep_offline,
        order=config.order,
        cpu=config.cpu,
        evict=config.unplug.evict,
        evict_quiet_s=float(config.unplug.quiet_period),
        max_grace_s=config.max_grace_seconds,
        squeeze_s=float(config.squeeze_timeout),
        prepare_s=float(config.prepare_timeout),
        offline_s=float(config.offline_timeout),
        evict_again_s=float(config.eviction_retry_period),
    )


def to_value(config: NodeResizeConfiguration) -> dict[str, Any]:
    """The document that would give it."""
    value: dict[str, Any] = msgspec.to_builtins(config, enc_hook=plain)
    return META | value
