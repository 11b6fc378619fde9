"""What every controller learns of its owners in the same way."""

import msgspec
from tests.core.controllers.world import NOW, Object, gone, meta, pod, seen, short

from flexlet.core.actions import ApiAction, LookUp, RecordEvent
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.owners import Changed, Gone, Owners, Refused, Sort
from flexlet.core.controllers.roster import Family
from flexlet.core.observations import Absent, Failed, Observation
from flexlet.core.refs import PODS, REPLICA_SETS
from flexlet.core.views import pod as pods
from flexlet.core.views import replicaset
from flexlet.core.views.pod import PodView
from flexlet.core.views.replicaset import ReplicaSetView

CONTROLLER = Controller("apps/v1", "ReplicaSet")
Sets = Owners[ReplicaSetView, PodView, Family[PodView]]


def body(**parts: object) -> Object:
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}
    return {"metadata": meta("web", **parts), "spec": spec}


def view(**parts: object) -> ReplicaSetView:
    return replicaset.view(msgspec.json.encode(body(**parts)))[0]


def owners(*observed: Observation) -> Sets:
    made: Sets = Owners(
        CONTROLLER, Sort(REPLICA_SETS, ReplicaSetView, replicaset.view), Sort(PODS, PodView, pods.view), Family
    )
    for observation in observed:
        made.fold(observation)
    return made


def refusal(action: ApiAction) -> Failed:
    return Failed(action, 403, "Forbidden", "no")


LOOK_UP = LookUp(ref=REPLICA_SETS, namespace="default", name="web", on_behalf_of="uid-web")


def test_an_owner_is_news_when_it_changes_and_only_then() -> None:
    made = owners()
    later = body(generation=2)
    assert [made.fold(one) for one in seen(REPLICA_SETS, body(), body(), later)] == [
        (Changed(view(), None),),
        (),
        (Changed(view(generation=2), view()),),
    ]
    assert (list(made), made.get("uid-web"), made.queue.take(NOW)) == (
        ["uid-web"],
        view(generation=2),
        ["uid-web"],
    )


def test_a_new_generation_ends_the_hold_of_a_refusal() -> None:
    """A status that somebody writes does not."""
    made = owners(*seen(REPLICA_SETS, body()), refusal(LOOK_UP))
    made.queue.take(NOW)
    made.fold(*seen(REPLICA_SETS, body(labels={"a": "b"})))
    assert made.queue.held("uid-web")
    made.fold(*seen(REPLICA_SETS, body(labels={"a": "b"}, generation=2)))
    assert not made.queue.held("uid-web")


def test_things_make_their_owner_due_but_are_no_news() -> None:
    mine, orphan = pod("a", owner=("ReplicaSet", "web")), pod("b")
    made = owners(*seen(REPLICA_SETS, body()))
    for observed in (*seen(PODS, mine, orphan), *gone(PODS, mine)):
        made.queue.take(NOW)
        assert (list(made.fold(observed)), made.queue.take(NOW)) == ([], ["uid-web"])
    assert [thing.name for thing in made.things.adoptable("uid-web")] == ["b"]


def test_an_owner_that_is_deleted_or_found_missing_is_gone_once() -> None:
    for leaving in (*gone(REPLICA_SETS, body()), Absent(REPLICA_SETS, "default", "web")):
        made = owners(*seen(REPLICA_SETS, body()))
        assert list(made.fold(leaving)) == [Gone(view())]
        assert list(made.fold(leaving)) == []
        assert (made.get("uid-web"), made.queue.take(NOW)) == (None, [])


def test_refusals_find_their_owner_even_if_it_is_gone() -> None:
    """Only for an owner that is there is anything tried again; an event that cannot be told is nobody's."""
    made = owners()
    assert list(made.fold(refusal(LOOK_UP))) == [Refused("uid-web", None, refusal(LOOK_UP))]
    assert made.queue.take(NOW) == []
    made.fold(*seen(REPLICA_SETS, body()))
    made.queue.take(NOW)
    assert list(made.fold(refusal(LOOK_UP))) == [Refused("uid-web", view(), refusal(LOOK_UP))]
    assert (made.queue.take(NOW), made.queue.held("uid-web")) == (["uid-web"], True)
    event = CONTROLLER.event(view(), "Normal", "Fine", "all is well")
    assert list(made.fold(refusal(event))) == []


def test_events_are_told_once() -> None:
    made = owners()
    about = {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "namespace": "default",
        "name": "web",
        "uid": "uid-web",
    }
    made.untold.append(CONTROLLER.event(view(), "Warning", "Odd", "look"))
    assert made.take_untold() == [
        RecordEvent(about=about, type="Warning", reason="Odd", message="look", component="replicaset-controller")
    ]
    assert made.take_untold() == []


def test_a_refused_adoption_starts_over_with_a_look_at_the_owner() -> None:
    made = owners(*seen(REPLICA_SETS, body()), *seen(PODS, pod("b")))
    orphans = made.things.adoptable("uid-web")
    assert short(made.adopt(view(), orphans)) == [("look up", "replicasets", "web")]
    assert short(made.adopt(view(), orphans)) == [("patch", "pods", "b", "")]
    made.adopt(view(), orphans)
    made.fold(refusal(LOOK_UP))
    assert short(made.adopt(view(), orphans)) == [("look up", "replicasets", "web")]
