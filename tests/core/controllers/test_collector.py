"""Objects whose owners are gone."""

from typing import Any

import msgspec
import pytest
from tests.core.controllers.world import NOW, Object, decide, gone, meta, reference, seen, short, stamp, tell

from flexlet.core.actions import DeleteObject, LookUp, PatchObject, Ref
from flexlet.core.controllers.collector.decider import CollectorDecider
from flexlet.core.controllers.collector.kinds import Served
from flexlet.core.observations import Absent, Failed, Seen
from flexlet.core.refs import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NODES, PODS, REPLICA_SETS

SERVED = [
    Served(PODS, "Pod", namespaced=True),
    Served(NODES, "Node", namespaced=False),
    Served(REPLICA_SETS, "ReplicaSet", namespaced=True),
    Served(DEPLOYMENTS, "Deployment", namespaced=True),
]


def thing(name: str, *owners: Object, **parts: Any) -> Object:
    if owners:
        parts["ownerReferences"] = list(owners)
    return {"metadata": meta(name, **parts)}


def pod_of(*names: str, name: str = "pod", **parts: Any) -> Object:
    return thing(name, *(reference("ReplicaSet", owner) for owner in names), **parts)


def decider(**things: tuple[Object, ...]) -> CollectorDecider:
    refs: dict[str, Ref] = {"pods": PODS, "sets": REPLICA_SETS, "deployments": DEPLOYMENTS, "nodes": NODES}
    made = CollectorDecider(SERVED)
    for kind, bodies in things.items():
        observations = seen(refs[kind], *bodies)
        tell(made, [Seen(refs[kind], one.raw, 7) for one in observations if isinstance(one, Seen)])
    return made


def deletion(name: str, propagation: str = "Background", ref: Ref = PODS) -> DeleteObject:
    return DeleteObject(
        ref=ref,
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        resource_version="7",
        propagation=propagation,
        on_behalf_of=f"uid-{name}",
    )


def json_patch(ref: Ref, name: str, *changes: Object, on_behalf_of: str = "") -> PatchObject:
    test = {"op": "test", "path": "/metadata/uid", "value": f"uid-{name}"}
    return PatchObject(
        ref=ref,
        namespace="default",
        name=name,
        patch=[test, *changes],
        kind="json",
        on_behalf_of=on_behalf_of or f"uid-{name}",
    )


def test_an_object_goes_when_its_owner_has_gone() -> None:
    made = decider(sets=(thing("rs"),), pods=(pod_of("rs"), thing("free")))
    assert decide(made) == ()
    tell(made, gone(REPLICA_SETS, thing("rs")))
    assert decide(made) == (deletion("pod"),)


def test_an_owner_that_was_never_seen_is_looked_up_first() -> None:
    """The watch of owners may be behind the watch of the owned."""
    made = decider(pods=(pod_of("rs"), pod_of("rs", name="twin")))
    [ask] = decide(made)
    assert ask == LookUp(ref=REPLICA_SETS, namespace="default", name="rs", on_behalf_of="uid-pod")
    assert decide(made) == ()
    tell(made, [Absent(REPLICA_SETS, "default", "rs")])
    assert set(short(decide(made))) == {("delete", "pods", "pod"), ("delete", "pods", "twin")}


def test_an_owner_that_was_only_late_keeps_its_own() -> None:
    made = decider(pods=(pod_of("rs"),))
    decide(made)
    tell(made, seen(REPLICA_SETS, thing("rs")))
    assert decide(made) == ()


def test_a_namesake_is_not_the_owner() -> None:
    made = decider(pods=(pod_of("rs"),))
    decide(made)
    tell(made, seen(REPLICA_SETS, thing("rs", uid="another")))
    assert decide(made) == (deletion("pod"),)


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    made = decider(sets=(thing("rs", namespace="other"),), pods=(pod_of("rs"),))
    assert short(decide(made)) == [("look up", "replicasets", "rs")]
    tell(made, [Absent(REPLICA_SETS, "default", "rs")])
    assert short(decide(made)) == [("delete", "pods", "pod")]


def test_cluster_objects_may_own_namespaced_ones() -> None:
    node = thing("n1", namespace="")
    made = decider(nodes=(node,), pods=(thing("pod", reference("Node", "n1", apiVersion="v1")),))
    assert decide(made) == ()
    tell(made, gone(NODES, node))
    assert decide(made) == (deletion("pod"),)


@pytest.mark.parametrize(
    "owned",
    [
        thing("pod", reference("Widget", "w", apiVersion="example.com/v1")),
        thing("pod", reference("ReplicaSet", "rs"), namespace=""),
    ],
    ids=["unknown kind", "cluster object owned by a namespaced one"],
)
def test_what_cannot_be_judged_is_left_alone(owned: Object) -> None:
    assert decide(decider(pods=(owned,))) == ()


def test_one_owner_left_is_enough_and_dead_references_are_dropped() -> None:
    made = decider(sets=(thing("a"), thing("b"), thing("c")), pods=(pod_of("a", "b", "c"),))
    decide(made)
    tell(made, gone(REPLICA_SETS, thing("a"), thing("c")))
    path = "/metadata/ownerReferences"
    assert decide(made) == (
        json_patch(
            PODS,
            "pod",
            {"op": "test", "path": f"{path}/2/uid", "value": "uid-c"},
            {"op": "remove", "path": f"{path}/2"},
            {"op": "test", "path": f"{path}/0/uid", "value": "uid-a"},
            {"op": "remove", "path": f"{path}/0"},
        ),
    )


def test_what_is_going_already_is_not_deleted_again() -> None:
    made = decider(sets=(thing("rs"),), pods=(pod_of("rs", deletionTimestamp=stamp()),))
    tell(made, gone(REPLICA_SETS, thing("rs")))
    assert decide(made) == ()


def test_in_the_foreground_dependents_go_first() -> None:
    """The Deployment waits for the ReplicaSet, which waits for its pods."""
    deployment = thing("d")
    rs = thing("rs", reference("Deployment", "d"))
    made = decider(deployments=(deployment,), sets=(rs,), pods=(pod_of("rs"),))
    decide(made)
    waiting = {"deletionTimestamp": stamp(), "finalizers": ["foregroundDeletion"]}
    tell(made, seen(DEPLOYMENTS, thing("d", **waiting)))
    assert short(decide(made)) == [("delete", "replicasets", "rs")]
    tell(made, seen(REPLICA_SETS, thing("rs", reference("Deployment", "d"), **waiting)))
    assert short(decide(made)) == [("delete", "pods", "pod")]
    tell(made, gone(PODS, pod_of("rs")))
    done = [
        {"op": "test", "path": "/metadata/finalizers/0", "value": "foregroundDeletion"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
        {"op": "remove", "path": "/metadata/finalizers"},
    ]
    assert decide(made) == (json_patch(REPLICA_SETS, "rs", *done),)
    tell(made, gone(REPLICA_SETS, rs))
    assert decide(made) == (json_patch(DEPLOYMENTS, "d", *done),)


def test_dependents_that_have_dependents_are_deleted_in_the_foreground_too() -> None:
    waiting = {"deletionTimestamp": stamp(), "finalizers": ["foregroundDeletion"]}
    rs = thing("rs", reference("Deployment", "d"))
    made = decider(deployments=(thing("d", **waiting),), sets=(rs,), pods=(pod_of("rs"),))
    assert decide(made) == (deletion("rs", "Foreground", REPLICA_SETS),)


def test_dependents_that_do_not_block_are_not_waited_for() -> None:
    waiting = {"deletionTimestamp": stamp(), "finalizers": ["foregroundDeletion", "example.com/mine"]}
    loose = thing("pod", reference("ReplicaSet", "rs", blockOwnerDeletion=False))
    made = decider(sets=(thing("rs", **waiting),), pods=(loose,))
    patch, removal = sorted(decide(made), key=lambda action: type(action).__name__, reverse=True)
    assert removal == deletion("pod")
    assert isinstance(patch, PatchObject)
    assert patch.patch[1:] == [
        {"op": "test", "path": "/metadata/finalizers/0", "value": "foregroundDeletion"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]


def test_with_another_owner_left_the_one_that_waits_is_let_go() -> None:
    waiting = {"deletionTimestamp": stamp(), "finalizers": ["foregroundDeletion"]}
    made = decider(sets=(thing("a", **waiting), thing("b")), pods=(pod_of("a", "b"),))
    [patch] = decide(made)
    assert isinstance(patch, PatchObject)
    assert patch.patch[1:] == [
        {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": "uid-a"},
        {"op": "remove", "path": "/metadata/ownerReferences/0"},
    ]


def test_a_circle_of_owners_is_broken() -> None:
    """Two that wait for each other would wait for ever."""
    waiting = {"deletionTimestamp": stamp(), "finalizers": ["foregroundDeletion"]}
    one = thing("one", reference("ReplicaSet", "two"), **waiting)
    two = thing("two", reference("ReplicaSet", "one"))
    made = decider(sets=(one, two))
    assert decide(made) == (
        json_patch(
            REPLICA_SETS,
            "two",
            {"op": "replace", "path": "/metadata/ownerReferences/0/blockOwnerDeletion", "value": False},
        ),
    )
    tell(made, seen(REPLICA_SETS, thing("two", reference("ReplicaSet", "one", blockOwnerDeletion=False))))
    assert short(decide(made)) == [("delete", "replicasets", "two"), ("patch", "replicasets", "one", "")]


def test_orphans_are_left_behind() -> None:
    made = decider(sets=(thing("rs"),), pods=(pod_of("rs"),))
    decide(made)
    tell(made, seen(REPLICA_SETS, thing("rs", deletionTimestamp=stamp(), finalizers=["orphan"])))
    path = "/metadata/ownerReferences"
    assert decide(made) == (
        json_patch(
            PODS,
            "pod",
            {"op": "test", "path": f"{path}/0/uid", "value": "uid-rs"},
            {"op": "remove", "path": f"{path}/0"},
            {"op": "remove", "path": path},
            on_behalf_of="uid-rs",
        ),
    )
    tell(made, seen(PODS, thing("pod")))
    [patch] = decide(made)
    assert isinstance(patch, PatchObject)
    assert (patch.name, patch.patch[-1]) == ("rs", {"op": "remove", "path": "/metadata/finalizers"})
    tell(made, gone(REPLICA_SETS, thing("rs")))
    assert decide(made) == ()


@pytest.mark.parametrize(
    ("finalizer", "propagation"), [("orphan", "Orphan"), ("foregroundDeletion", "Foreground")]
)
def test_a_finalizer_that_is_there_already_says_how(finalizer: str, propagation: str) -> None:
    made = decider(sets=(thing("rs"),), pods=(pod_of("rs", finalizers=[finalizer]),))
    tell(made, gone(REPLICA_SETS, thing("rs")))
    assert decide(made) == (deletion("pod", propagation),)


def test_an_object_that_changed_meanwhile_is_judged_anew() -> None:
    """It may have been adopted in that moment."""
    made = decider(sets=(thing("rs"), thing("new")), pods=(pod_of("rs"),))
    tell(made, gone(REPLICA_SETS, thing("rs")))
    [removal] = decide(made)
    tell(made, [Failed(removal, 409, "Conflict", "modified")])
    assert decide(made) == ()
    tell(made, seen(PODS, pod_of("new")))
    assert decide(made, NOW + 1) == ()


def test_a_failed_look_up_is_repeated() -> None:
    made = decider(pods=(pod_of("rs"),))
    [ask] = decide(made)
    tell(made, [Failed(ask, 500, "InternalError", "no")])
    assert decide(made) == ()
    assert decide(made, NOW + 1) == (ask,)


def definition(*, established: bool = True, served: bool = True) -> Object:
    versions = [
        {"name": "v1alpha1", "served": True, "storage": False},
        {"name": "v1", "served": served, "storage": True},
    ]
    spec = {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": versions if served else versions[1:],
    }
    conditions = [{"type": "Established", "status": str(established)}]
    found = meta("widgets.example.com", namespace="")
    return {"metadata": found, "spec": spec, "status": {"conditions": conditions}}


def test_custom_resources_are_followed_as_soon_as_they_are_served() -> None:
    made = decider(pods=(thing("pod", reference("Widget", "w", apiVersion="example.com/v1alpha1")),))
    tell(made, seen(CUSTOM_RESOURCE_DEFINITIONS, definition(established=False)))
    assert made.decide(NOW).follow == ()
    tell(made, seen(CUSTOM_RESOURCE_DEFINITIONS, definition(served=False)))
    assert made.decide(NOW).follow == ()
    tell(made, seen(CUSTOM_RESOURCE_DEFINITIONS, definition()))
    widgets = ("example.com", "v1", "widgets")
    assert made.decide(NOW).follow == (widgets,)
    assert made.decide(NOW).follow == ()
    tell(made, seen(widgets, thing("w")))
    assert decide(made) == ()
    tell(made, gone(widgets, thing("w")))
    assert decide(made) == (deletion("pod"),)


def test_no_round_deletes_more_than_a_limit() -> None:
    pods = tuple(pod_of("rs", name=f"p{number}") for number in range(700))
    made = decider(sets=(thing("rs"),), pods=pods)
    tell(made, gone(REPLICA_SETS, thing("rs")))
    assert [len(decide(made)) for _ in range(3)] == [500, 200, 0]


def test_views_need_no_feed() -> None:
    """Answers to look-ups carry bytes only."""
    made = CollectorDecider(SERVED)
    tell(made, [Seen(PODS, msgspec.json.encode(pod_of("rs")))])
    assert short(decide(made)) == [("look up", "replicasets", "rs")]
