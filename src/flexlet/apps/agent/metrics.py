"""What ``/metrics`` tells of the agent as a whole: its node, its release, and what is looked up on demand."""

import platform

from flexlet import __version__
from flexlet.apps.agent.node import Surroundings
from flexlet.core import gates
from flexlet.core.kubeletconfig import uses
from flexlet.core.node.settings import KUBELET_VERSION
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.gauges import Gauges
from flexlet.engine.agent.resizing import counts
from flexlet.engine.certificates import Keeper


def describe(around: Surroundings, node: Agent, client: Keeper | None, serving: Keeper | None) -> None:
    """Say once what does not change, and look up the rest whenever somebody asks."""
    meters = around.meters
    meters.set("kubelet_node_name", {"node": around.options.name})
    meters.set("kubelet_cgroup_version", value=2)
    meters.set("kubernetes_build_info", _build())
    for name, enabled in uses.gates(around.config).enabled.items():
        meters.set("kubernetes_feature_enabled", {"name": name, "stage": gates.STAGES.get(name, "")}, enabled)
    found = Gauges(meters, node.loop, node.watching)

    def refresh() -> None:
        found.refresh()
        if around.resize.plug:
            counts.show(meters, node.detecting)
        now = around.clock.now()
        for name, keeper in (("client", client), ("server", serving)):
            if keeper is not None and keeper.held is not None:
                meters.set(f"kubelet_certificate_manager_{name}_ttl_seconds", value=keeper.held.ends - now)
        if client is not None:
            failures = client.statistics().failures
            meters.set("kubelet_certificate_manager_client_expiration_renew_errors", value=failures)

    meters.refresh = refresh


def _build() -> dict[str, str]:
    """As other components tell it; what is about Go is about Python here."""
    major, minor, _ = KUBELET_VERSION.removeprefix("v").split(".")
    return {
        "build_date": "",
        "compiler": platform.python_implementation(),
        "git_commit": "",
        "git_tree_state": "",
        "git_version": f"{KUBELET_VERSION}+flexlet.{__version__}",
        "go_version": f"python{platform.python_version()}",
        "major": major,
        "minor": minor,
        "platform": f"linux/{platform.machine()}",
    }
