import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.core.staticpods.manifests import NODE, NOW, pod

from flexlet.core.actions import ApiAction, CreateObject, DeleteObject
from flexlet.core.observations import Failed, Seen, Vanished
from flexlet.core.refs import PODS
from flexlet.core.staticpods.mirrors import Mirror, MirrorDecider, mirror

POD, CHANGED = pod(), pod(hostNetwork=True)
CREATE = CreateObject(ref=PODS, namespace="default", body=mirror(POD, NODE, "n1"))
GONE = Vanished(PODS, "default", "st-node-a", "m1")


def delete(uid: str = "m1") -> DeleteObject:
    return DeleteObject(ref=PODS, namespace="default", name="st-node-a", uid=uid, grace_seconds=0)


def seen(body: dict[str, Any], uid: str = "m1", *, deleting: bool = False) -> Seen:
    metadata = {**body["metadata"], "uid": uid}
    if deleting:
        metadata["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    return Seen(PODS, json.dumps({**body, "metadata": metadata}).encode())


def decider(*pods: Any, live: tuple[str, ...] = (), node_uid: str = "n1") -> MirrorDecider:
    made = MirrorDecider(NODE)
    made.learn(pods, live, node_uid)
    return made


def actions(made: MirrorDecider, now: float = NOW) -> tuple[ApiAction, ...]:
    return made.decide(now).actions


def test_a_static_pod_gets_a_mirror() -> None:
    """Once the node is registered, and only once."""
    made = decider(POD, node_uid="")
    assert actions(made) == ()
    made.learn([POD], [], "n1")
    assert (actions(made), actions(made)) == ((CREATE,), ())
    assert made.mirror_of(POD) is None
    made.fold(seen(CREATE.body))
    assert (actions(made), made.mirror_of(POD)) == ((), Mirror(uid="m1", hash=POD.uid))


def test_a_deleted_mirror_comes_back() -> None:
    """Without its pod noticing: deletion is finished, then it is made again."""
    made = decider(POD, live=(POD.uid,))
    made.fold(seen(CREATE.body, deleting=True))
    assert (made.mirror_of(POD), actions(made), actions(made)) == (None, (delete(),), ())
    made.fold(GONE)
    assert actions(made) == (CREATE,)


def test_a_mirror_of_another_pod_is_replaced() -> None:
    """When nothing of that other pod runs any more."""
    made = decider(CHANGED, live=(POD.uid,))
    made.fold(seen(CREATE.body))
    assert actions(made) == ()
    made.learn([CHANGED], [], "n1")
    assert actions(made) == (delete(),)
    made.fold(GONE)
    assert actions(made) == (CreateObject(ref=PODS, namespace="default", body=mirror(CHANGED, NODE, "n1")),)


def test_the_mirror_goes_after_its_pod() -> None:
    made = decider(live=(POD.uid,))
    made.fold(seen(CREATE.body))
    assert actions(made) == ()
    made.learn([], [], "n1")
    assert actions(made) == (delete(),)
    made.fold(GONE)
    assert actions(made) == ()


def test_pods_that_are_no_mirrors_are_left_alone() -> None:
    """A namesake keeps the mirror away, with growing pauses between the attempts."""
    made = decider(POD)
    foreign = {"metadata": {"namespace": "default", "name": "st-node-a"}}
    made.fold(seen(foreign, "other"))
    now, pauses = NOW, []
    for _ in range(8):
        assert actions(made, now) == (CREATE,)
        made.fold(Failed(CREATE, 409, "AlreadyExists", ""))
        plan = made.decide(now)
        assert plan.actions == ()
        pauses.append(round((plan.wake_at or now) - now))
        now = plan.wake_at or now
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    made.fold(Vanished(PODS, "default", "st-node-a", "other"))
    assert actions(made, now) == (CREATE,)


def test_a_failed_delete_is_tried_again() -> None:
    made = decider()
    made.fold(seen(CREATE.body))
    assert actions(made) == (delete(),)
    made.fold(Failed(delete(), 500, "", ""))
    assert (actions(made), actions(made, NOW + 1)) == ((), (delete(),))


class Api:
    """As much of a server as mirrors notice."""

    def __init__(self) -> None:
        self.pod: dict[str, Any] | None = None
        self.count = 0

    def act(self, action: ApiAction) -> Iterator[Seen | Vanished]:
        match action:
            case CreateObject(body=body) if self.pod is None:
                self.count += 1
                self.pod = {**body, "metadata": {**body["metadata"], "uid": f"m{self.count}"}}
                yield seen(self.pod, f"m{self.count}")
            case DeleteObject(uid=uid) if self.pod is not None and self.pod["metadata"]["uid"] == uid:
                self.pod = None
                yield Vanished(PODS, "default", "st-node-a", uid)


@given(st.lists(st.tuples(st.sampled_from([None, POD, CHANGED]), st.booleans()), min_size=1))
def test_in_the_end_the_mirror_is_that_of_the_pod(history: list[tuple[Any, bool]]) -> None:
    """However manifests change, and whoever deletes mirrors meanwhile."""
    made, api = MirrorDecider(NODE), Api()
    for wanted, someone_deletes in history:
        made.learn([wanted] if wanted is not None else [], [], "n1")
        if someone_deletes and api.pod is not None:
            made.fold(seen(api.pod, api.pod["metadata"]["uid"], deleting=True))
        for _ in range(3):
            for action in actions(made):
                for observation in api.act(action):
                    made.fold(observation)
    found = api.pod and api.pod["metadata"]["annotations"]["kubernetes.io/config.mirror"]
    assert found == (history[-1][0] and history[-1][0].uid)
    assert actions(made) == ()
