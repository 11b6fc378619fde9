"""What a budget reports."""

from typing import Any, Final

from flexlet.api import age
from flexlet.core.controllers.conditions import Condition, find, seconds, text
from flexlet.core.controllers.disruption.cover import Cover
from flexlet.core.controllers.disruption.scales import NoScale, Scales
from flexlet.core.controllers.shares import scaled
from flexlet.core.views.budget import BudgetStatus, BudgetView

ALLOWED: Final = "DisruptionAllowed"
DELETION_TIMEOUT_S: Final = 120.0


def expectation(budget: BudgetView, cover: Cover, scales: Scales) -> tuple[int, int] | str:
    """How many pods there should be, and how many must stay healthy; or why that cannot be told."""
    if budget.max_unavailable is None and not isinstance(budget.min_available, str):
        return len(cover), budget.min_available or 0
    expected = scales.total(cover.owners())
    if isinstance(expected, NoScale):
        return expected.message or f'found no controllers for pod "{cover.pod_of(expected.owner)}"'
    if budget.max_unavailable is None:
        return expected, scaled(budget.min_available, expected, up=True)
    return expected, max(0, expected - scaled(budget.max_unavailable, expected, up=True))


def reported(
    budget: BudgetView, cover: Cover, expected: int, desired: int, now: float
) -> tuple[BudgetStatus, float | None]:
    """The status, and when an announced eviction that did not happen stops to count."""
    announced = budget.status.disrupted_pods
    due = {name: seconds(announced[name]) + DELETION_TIMEOUT_S for name in cover.named(announced)}
    pending = {name: when for name, when in due.items() if when > now}
    healthy = cover.healthy - sum(pod.ready for pod in cover.named(pending).values())
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status = BudgetStatus(
        observed_generation=budget.generation,
        disrupted_pods={name: announced[name] for name in pending},
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        conditions=_with_allowed(
            budget, "SufficientPods" if allowed else "InsufficientPods", str(allowed > 0), "", now
        ),
    )
    return status, min(pending.values(), default=None)


def failed(budget: BudgetView, message: str, now: float) -> BudgetStatus:
    """When nothing can be counted, nothing may be disrupted."""
    before = budget.status
    return BudgetStatus(
        observed_generation=before.observed_generation,
        disrupted_pods=before.disrupted_pods,
        disruptions_allowed=0,
        current_healthy=before.current_healthy,
        desired_healthy=before.desired_healthy,
        expected_pods=before.expected_pods,
        conditions=_with_allowed(budget, "SyncFailed", "False", message, now),
    )


def value(before: BudgetStatus, status: BudgetStatus) -> dict[str, Any]:
    """The status as a merge patch: announcements that are over are taken out one by one."""
    announced: dict[str, str | None] = dict.fromkeys(before.disrupted_pods.keys() - status.disrupted_pods.keys())
    announced |= status.disrupted_pods
    return {
        "observedGeneration": status.observed_generation or None,
        "disruptedPods": announced if status.disrupted_pods else None,
        "disruptionsAllowed": status.disruptions_allowed,
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "conditions": list(status.conditions),
    }


def _with_allowed(budget: BudgetView, reason: str, status: str, message: str, now: float) -> tuple[Condition, ...]:
    """The condition in its place; its time is that of its status."""
    current = find(budget.status.conditions, ALLOWED)
    since = text(current, "lastTransitionTime") if text(current, "status") == status else ""
    generation = budget.status.observed_generation if reason == "SyncFailed" else budget.generation
    condition = {
        "type": ALLOWED,
        "status": status,
        "observedGeneration": generation,
        "lastTransitionTime": since or age.format_seconds(now),
        "reason": reason,
        "message": message,
    }
    others = budget.status.conditions
    if current is None:
        return (*others, condition)
    return tuple(condition if other is current else other for other in others)
