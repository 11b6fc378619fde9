"""How many pods a rollout may have, and how many of them must be available."""

from flexlet.core.controllers.shares import scaled
from flexlet.core.views.deployment import DeploymentView, RollingUpdate


def max_surge(d: DeploymentView) -> int:
    """Pods above the wanted number."""
    if not d.is_rolling:
        return 0
    return scaled((d.strategy.rolling_update or RollingUpdate()).max_surge, d.replicas, up=True)


def max_unavailable(d: DeploymentView) -> int:
    """Pods that may be missing; one, if neither more nor fewer were allowed, or nothing could move."""
    if not d.is_rolling or not d.replicas:
        return 0
    rolling = d.strategy.rolling_update or RollingUpdate()
    allowed = scaled(rolling.max_unavailable, d.replicas, up=False)
    if not allowed and not scaled(rolling.max_surge, d.replicas, up=True):
        allowed = 1
    return min(allowed, d.replicas)


def most_pods(d: DeploymentView) -> int:
    """The wanted number and the surge."""
    return d.replicas + max_surge(d)
