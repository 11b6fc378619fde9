from msgspec.structs import replace
from tests.core.eviction.candidates import MIB, NOW, below, candidate, fs

from flexlet.core.actions import RecordEvent
from flexlet.core.agent.record import Ending
from flexlet.core.eviction.evictor import Decision, Eviction, EvictionSettings, Evictor
from flexlet.core.eviction.ranking import Candidate
from flexlet.core.eviction.signals import Level, Levels
from flexlet.core.kubeletconfig.thresholds import Threshold

HARD = below("memory.available", "100Mi")
SOFT = below("memory.available", "200Mi", grace=30)
DISK = below("nodefs.available", "10%")
GREEDY, MODEST = candidate("greedy", 300), candidate("modest", 10, ",20Mi")
CRITICAL = candidate("critical", 900, priority=2_000_001_000)
TOLD = RecordEvent(
    about={"kind": "Node", "apiVersion": "v1", "name": "n"},
    type="Warning",
    reason="EvictionThresholdMet",
    message="Attempting to reclaim memory",
    component="kubelet",
)
TEXT = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
    "Container c was using 300Mi, request is 0, has larger consumption of memory. "
)


def memory(mib: int, time: float = NOW) -> Levels:
    return {"memory.available": Level(mib * MIB, 1000 * MIB, time)}


def disk(left: int, time: float = NOW) -> Levels:
    return {"nodefs.available": Level(left, 1000, time)}


def evictor(*thresholds: Threshold, max_pod_grace_s: int = 0, own_image_fs: bool = False) -> Evictor:
    settings = EvictionSettings(thresholds=thresholds, max_pod_grace_s=max_pod_grace_s, own_image_fs=own_image_fs)
    return Evictor("n", settings)


def alive(*pods: Candidate) -> list[str]:
    return [pod.pod.metadata.uid for pod in pods]


def evicted(decision: Decision) -> list[str]:
    return [eviction.uid for eviction in decision.evictions]


def test_a_pod_is_evicted() -> None:
    """With reason, message, condition and a second of grace; node and pod are told."""
    made = evictor(HARD)
    assert made.learn(memory(50), NOW)
    assert made.decide([MODEST, GREEDY], alive(MODEST, GREEDY), NOW) == Decision(
        evictions=(
            Eviction(
                uid="uid-greedy",
                signal="memory.available",
                ending=Ending(reason="Evicted", message=TEXT, grace_s=1, failed=True, disruption=TEXT),
                annotations={
                    "offending_containers": "c",
                    "offending_containers_usage": "300Mi",
                    "starved_resource": "memory",
                },
            ),
        ),
        events=(
            TOLD,
            RecordEvent(
                about={
                    "kind": "Pod",
                    "apiVersion": "v1",
                    "namespace": "default",
                    "name": "greedy",
                    "uid": "uid-greedy",
                },
                type="Warning",
                reason="Evicted",
                message=TEXT,
                component="kubelet",
            ),
        ),
    )
    assert made.pressures(NOW) == {"MemoryPressure"}


def test_nobody_is_evicted_while_enough_is_left() -> None:
    made = evictor(HARD)
    assert not made.learn(memory(100), NOW)
    assert made.decide([GREEDY], alive(GREEDY), NOW) == Decision()
    assert made.pressures(NOW) == frozenset()


def test_one_at_a_time() -> None:
    """The next one pays when the last is gone, or has had half a minute."""
    made, both = evictor(HARD), [GREEDY, MODEST]
    made.learn(memory(50), NOW)
    assert evicted(made.decide(both, alive(*both), NOW)) == ["uid-greedy"]
    made.learn(memory(50, NOW + 10), NOW + 10)
    assert made.decide([MODEST], alive(*both), NOW + 10) == Decision()
    made.learn(memory(50, NOW + 20), NOW + 20)
    assert evicted(made.decide([MODEST], alive(MODEST), NOW + 20)) == ["uid-modest"]
    made.learn(memory(50, NOW + 50), NOW + 50)
    assert evicted(made.decide([GREEDY], alive(*both), NOW + 50)) == ["uid-greedy"]


def test_one_measurement_ends_one_pod() -> None:
    made = evictor(HARD)
    made.learn(memory(50), NOW)
    assert evicted(made.decide([GREEDY], alive(GREEDY), NOW)) == ["uid-greedy"]
    assert made.decide([MODEST], alive(MODEST), NOW + 1) == Decision()


def test_critical_pods_stay() -> None:
    """They would not come back; with nobody else there the node only says what it tried."""
    made = evictor(HARD)
    made.learn(memory(50), NOW)
    assert made.decide([CRITICAL], alive(CRITICAL), NOW) == Decision(events=(TOLD,))
    made.learn(memory(50, NOW + 10), NOW + 10)
    assert evicted(made.decide([CRITICAL, MODEST], alive(CRITICAL, MODEST), NOW + 10)) == ["uid-modest"]


def test_balloons_stay() -> None:
    """Whatever they use, and also if they break limits of their own: it would only give room to others."""
    found = candidate("balloon", 500, limits=",,ephemeral-storage=1Mi", logs=fs(2))
    meta = replace(found.pod.metadata, namespace="kube-system", labels={"flexlet.io/balloon": "true"})
    balloon = replace(found, pod=replace(found.pod, metadata=meta))
    made = evictor(HARD)
    made.learn(memory(50), NOW)
    assert made.decide([balloon], alive(balloon), NOW) == Decision(events=(TOLD,))
    made.learn(memory(50, NOW + 10), NOW + 10)
    assert evicted(made.decide([balloon, MODEST], alive(balloon, MODEST), NOW + 10)) == ["uid-modest"]


def test_soft_thresholds_leave_time() -> None:
    """As much as the operator allows, and no more than the pod asked for."""
    for own, grace in ((5, 5), (30, 20), (None, 20)):
        made = evictor(SOFT, max_pod_grace_s=20)
        pod = candidate("web", 300, grace=own)
        made.learn(memory(150, NOW - 30), NOW - 30)
        made.learn(memory(150), NOW)
        assert [each.ending.grace_s for each in made.decide([pod], [], NOW).evictions] == [grace]


def test_the_node_gives_back_its_own_first() -> None:
    """Ended containers and unused images; pods pay if that is not enough."""
    made, pod = evictor(DISK), candidate("web", 1, logs=fs(5), rootfs=fs(5))
    made.learn(disk(50), NOW)
    asked = made.decide([pod], alive(pod), NOW)
    assert (asked.reclaim, asked.evictions) == (("containers", "images"), ())
    made.reclaimed(disk(60, NOW + 1))
    paid = made.decide([pod], alive(pod), NOW + 1)
    assert (evicted(paid), [event.reason for event in paid.events]) == (["uid-web"], ["Evicted"])
    other = evictor(DISK)
    other.learn(disk(50), NOW)
    other.reclaimed(disk(500, NOW + 1))
    assert other.decide([pod], alive(pod), NOW + 1) == Decision()
    assert other.pressures(NOW + 1) == {"DiskPressure"}


def test_nothing_can_be_given_back_on_a_disk_without_images() -> None:
    made, pod = evictor(DISK, own_image_fs=True), candidate("web", 1, logs=fs(5))
    made.learn(disk(50), NOW)
    assert evicted(made.decide([pod], alive(pod), NOW)) == ["uid-web"]


def test_pods_over_their_own_limits_go_at_once() -> None:
    """All of them, without a condition of disruption, whatever the node has left; and before anybody else."""
    over = [candidate(name, 1, limits=",,ephemeral-storage=1Mi", logs=fs(2)) for name in ("a", "b")]
    made = evictor(HARD)
    made.learn(memory(50), NOW)
    text = 'Container c exceeded its local ephemeral storage limit "1Mi". '
    found = made.decide([GREEDY, *over], [], NOW)
    assert found.evictions == tuple(
        Eviction(
            uid=f"uid-{name}",
            signal="ephemeralcontainerfs.limit",
            ending=Ending(reason="Evicted", message=text, grace_s=1, failed=True),
        )
        for name in ("a", "b")
    )
    assert [event.about["name"] for event in found.events] == ["a", "b"]
    lenient = Evictor("n", EvictionSettings(local_storage=False))
    lenient.learn({}, NOW)
    assert lenient.decide(over, [], NOW) == Decision()
