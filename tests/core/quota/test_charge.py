"""What quotas say to a write, and what they have used afterwards."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.decode import from_value, to_value
from flexlet.api.pod import Pod
from flexlet.api.quantity import Quantity
from flexlet.api.quota import ResourceQuota, ResourceQuotaStatus
from flexlet.core.quota.charge import Refusal, charge
from flexlet.core.quota.claim import Claim, Counting, count_claim, pod_claim
from flexlet.core.quota.measure import is_current, measure, resources_to_count
from flexlet.core.quota.scopes import PodTraits, in_scope


def quota_of(hard: Any, used: Any = None, *, name: str = "q", **spec: Any) -> ResourceQuota:
    """A quota in force; without `used` nothing has been charged yet."""
    used = dict.fromkeys(hard, "0") | (used or {})
    value = {
        "metadata": {"name": name},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": {key: amount for key, amount in used.items() if amount is not None}},
    }
    return from_value(value, ResourceQuota)


def claim_of(requests: Any = None, limits: Any = None, **spec: Any) -> Claim:
    """The claim of a pod with one container c."""
    resources = {"requests": requests or {}, "limits": limits or {}}
    value = {"spec": {"containers": [{"name": "c", "resources": resources}], **spec}}
    return pod_claim(from_value(value, Pod), 0.0, Counting())


def used_after(quotas: tuple[ResourceQuota, ...], claim: Claim, old: Claim | None = None) -> Any:
    outcome = charge(quotas, claim, old)
    assert not isinstance(outcome, Refusal), outcome
    return [to_value(quota.status.used) for quota in outcome]


def test_a_pod_is_added_to_every_quota_that_counts_it() -> None:
    quotas = (quota_of({"pods": "3", "requests.cpu": "2"}), quota_of({"secrets": "1"}), quota_of({"cpu": "9"}))
    assert used_after(quotas, claim_of({"cpu": "500m"})) == [
        {"pods": "1", "requests.cpu": "500m"},
        {"secrets": "0"},
        {"cpu": "500m"},
    ]


def test_a_quota_that_is_not_concerned_stays_the_same_value() -> None:
    """Whoever stores the result sees by identity what there is to store."""
    quotas = (quota_of({"secrets": "1"}),)
    outcome = charge(quotas, claim_of())
    assert not isinstance(outcome, Refusal)
    assert outcome[0] is quotas[0]


def test_an_update_is_charged_with_what_it_adds() -> None:
    """What it gives back stays charged until usage is counted anew."""
    quota = quota_of(
        {"requests.cpu": "2", "requests.memory": "2Gi"}, {"requests.cpu": "1", "requests.memory": "1Gi"}
    )
    old = claim_of({"cpu": "1", "memory": "1Gi"})
    new = claim_of({"cpu": "1500m", "memory": "512Mi"})
    assert used_after((quota,), new, old) == [{"requests.cpu": "1500m", "requests.memory": "1Gi"}]


def test_an_update_into_the_scope_is_charged_in_full() -> None:
    quota = quota_of({"pods": "1", "cpu": "1"}, scopes=["Terminating"])
    old = claim_of({"cpu": "1"})
    new = claim_of({"cpu": "1"}, activeDeadlineSeconds=5)
    assert used_after((quota,), new, old) == [{"pods": "1", "cpu": "1"}]


@pytest.mark.parametrize(
    ("quota", "claim", "message"),
    [
        (
            quota_of({"pods": "1", "requests.cpu": "2"}, {"pods": "1", "requests.cpu": "1"}),
            claim_of({"cpu": "1500m"}),
            (
                "exceeded quota: q, requested: pods=1,requests.cpu=1500m, used: pods=1,requests.cpu=1, "
                "limited: pods=1,requests.cpu=2"
            ),
        ),
        (
            quota_of({"limits.memory": "1Gi", "requests.cpu": "1"}, {"limits.memory": "900Mi"}),
            claim_of({"cpu": "1"}, {"memory": "200Mi"}),
            (
                "exceeded quota: q, requested: limits.memory=200Mi, used: limits.memory=900Mi, "
                "limited: limits.memory=1Gi"
            ),
        ),
        (
            quota_of({"requests.cpu": "1", "limits.memory": "1"}),
            claim_of(),
            "failed quota: q: must specify limits.memory for: c; requests.cpu for: c",
        ),
        (
            quota_of({"pods": "1", "requests.cpu": "1"}, {"requests.cpu": None}),
            claim_of({"cpu": "1"}),
            "status unknown for quota: q, resources: pods,requests.cpu",
        ),
        (
            quota_of({"count/secrets": "0"}),
            count_claim("secrets"),
            "exceeded quota: q, requested: count/secrets=1, used: count/secrets=0, limited: count/secrets=0",
        ),
        (
            quota_of({"cpu": "1"}),
            claim_of({"cpu": "-1"}),
            "quota usage is negative for resource(s): cpu,requests.cpu",
        ),
    ],
)
def test_refusals_say_what_is_in_the_way(quota: ResourceQuota, claim: Claim, message: str) -> None:
    """Only the limits that are exceeded are listed."""
    assert charge((quota,), claim) == Refusal(message)


def test_the_containers_at_fault_are_listed() -> None:
    named = ({"name": "b"}, {"name": "a"}, {"name": "c", "resources": {"requests": {"cpu": "1"}}})
    value = {"spec": {"containers": named[:2], "initContainers": named[2:]}}
    claim = pod_claim(from_value(value, Pod), 0.0, Counting())
    assert charge((quota_of({"requests.cpu": "1"}),), claim) == Refusal(
        "failed quota: q: must specify requests.cpu for: a,b"
    )


def test_a_quota_nobody_has_looked_at_yet_does_not_count() -> None:
    """What its spec says comes into force with its status."""
    fresh = from_value({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}, ResourceQuota)
    assert charge((fresh,), claim_of()) == (fresh,)


def test_storage_and_other_ephemeral_amounts_need_not_be_stated() -> None:
    assert used_after((quota_of({"requests.ephemeral-storage": "1Gi"}),), claim_of()) == [
        {"requests.ephemeral-storage": "0"}
    ]


def scoped(name: str, operator: str = "Exists", values: Any = ()) -> ResourceQuota:
    expression = {"scopeName": name, "operator": operator, "values": values}
    return quota_of({"pods": "1"}, scopeSelector={"matchExpressions": [expression]})


PLAIN = PodTraits()
HIGH = PodTraits(priority_class="high")


@pytest.mark.parametrize(
    ("quota", "inside", "outside"),
    [
        (scoped("Terminating"), PodTraits(terminating=True), PLAIN),
        (scoped("NotTerminating"), PLAIN, PodTraits(terminating=True)),
        (scoped("BestEffort"), PodTraits(best_effort=True), PLAIN),
        (scoped("NotBestEffort"), PLAIN, PodTraits(best_effort=True)),
        (scoped("CrossNamespacePodAffinity"), PodTraits(cross_namespace_affinity=True), PLAIN),
        (scoped("PriorityClass"), HIGH, PLAIN),
        (scoped("PriorityClass", "DoesNotExist"), PLAIN, HIGH),
        (scoped("PriorityClass", "In", ["high"]), HIGH, PLAIN),
        (scoped("PriorityClass", "NotIn", ["low"]), PLAIN, PodTraits(priority_class="low")),
        (quota_of({"pods": "1"}, scopes=["PriorityClass"]), HIGH, PLAIN),
        (
            quota_of({"pods": "1"}, scopes=["BestEffort", "Terminating"]),
            PodTraits(best_effort=True, terminating=True),
            PodTraits(best_effort=True),
        ),
        (scoped("PriorityClass", "In", ["high"]), HIGH, None),
    ],
)
def test_scopes_choose_pods(quota: ResourceQuota, inside: PodTraits, outside: PodTraits | None) -> None:
    """All scopes must hold, and what is no pod is in none."""
    assert (in_scope(quota, inside), in_scope(quota, outside)) == (True, False)


def test_unknown_scopes_and_operators_hold_for_nothing() -> None:
    assert [in_scope(quota, HIGH) for quota in (scoped("Odd"), scoped("PriorityClass", "Odd"))] == [False, False]


SERVED = frozenset({"pods", "secrets"})


def test_measuring_counts_from_scratch() -> None:
    """Zero where nothing is served; what nobody can measure keeps its usage or has none."""
    hard = {
        "pods": "9",
        "requests.cpu": "9",
        "secrets": "9",
        "services": "9",
        "persistentvolumeclaims": "9",
        "count/old.example.com": "9",
        "count/new.example.com": "9",
    }
    stale = {"pods": "7", "count/new.example.com": None, "count/old.example.com": "3", "gone": "1"}
    claims = [claim_of({"cpu": "1"}), claim_of({"cpu": "500m"}), count_claim("secrets")]
    quota = quota_of(hard, stale)
    assert to_value(measure(quota, claims, SERVED)) == {
        "hard": hard,
        "used": {
            "pods": "2",
            "requests.cpu": "1500m",
            "secrets": "1",
            "services": "0",
            "persistentvolumeclaims": "0",
            "count/old.example.com": "3",
        },
    }
    assert resources_to_count(quota, SERVED) == {"pods", "secrets"}


def test_measuring_looks_at_the_scope() -> None:
    quota = quota_of({"pods": "9"}, scopes=["BestEffort"])
    claims = [claim_of(), claim_of({"cpu": "1"})]
    assert to_value(measure(quota, claims, SERVED).used) == {"pods": "1"}


@pytest.mark.parametrize(
    ("hard", "status", "current"),
    [
        ({"pods": "1"}, {}, False),
        ({"pods": "1"}, {"hard": {"pods": "1"}}, False),
        ({"pods": "1"}, {"hard": {"pods": "2"}, "used": {"pods": "0"}}, False),
        ({"pods": "1"}, {"hard": {"pods": "1000m"}, "used": {"pods": "0"}}, True),
        ({"count/x.example.com": "1"}, {"hard": {"count/x.example.com": "1"}}, True),
    ],
)
def test_a_status_is_current_once_it_shows_all_that_can_be_shown(hard: Any, status: Any, current: bool) -> None:
    quota = from_value({"spec": {"hard": hard}, "status": status}, ResourceQuota)
    assert is_current(quota, SERVED) is current


amounts = st.integers(min_value=0, max_value=5000).map(Quantity.of_milli)
claims = st.builds(
    lambda cpu, memory, best_effort: Claim(
        resource="pods",
        usage={"pods": Quantity.of_milli(1000), "cpu": cpu, "memory": memory},
        traits=PodTraits(best_effort=best_effort),
        stated=(),
    ),
    amounts,
    amounts,
    st.booleans(),
)


@given(st.lists(claims, max_size=8), st.lists(st.sampled_from(["BestEffort", "NotBestEffort"]), max_size=1))
def test_charging_one_by_one_is_measuring_all(asked: list[Claim], scopes: list[str]) -> None:
    """Admission and counting anew agree as long as nothing goes away."""
    quota = quota_of(dict.fromkeys(("pods", "cpu", "memory"), "1M"), scopes=scopes)
    running: tuple[ResourceQuota, ...] = (quota,)
    for claim in asked:
        outcome = charge(running, claim)
        assert not isinstance(outcome, Refusal)
        running = outcome
    assert running[0].status == measure(quota, asked, SERVED)


@given(st.lists(claims, max_size=12))
def test_usage_never_exceeds_the_limit(asked: list[Claim]) -> None:
    """A refused write leaves no trace, the others fit together."""
    hard = {"pods": Quantity.of_milli(5000), "cpu": Quantity.of_milli(7000), "memory": Quantity.of_milli(6000)}
    running: tuple[ResourceQuota, ...] = (quota_of({name: str(amount) for name, amount in hard.items()}),)
    admitted = []
    for claim in asked:
        outcome = charge(running, claim)
        if not isinstance(outcome, Refusal):
            admitted.append(claim)
            running = outcome
    assert all(running[0].status.used[name] <= amount for name, amount in hard.items())
    assert running[0].status == ResourceQuotaStatus(hard=hard, used=measure(running[0], admitted, SERVED).used)
