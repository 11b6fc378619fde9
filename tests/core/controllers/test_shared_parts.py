"""Shares, templates, deletion order, conditions: what controllers have in common."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.controllers.world import NOW, TEMPLATE, pod, stamp

from flexlet.core.controllers import conditions, readiness, removal, templates
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.shares import scaled
from flexlet.core.views import pod as pods
from flexlet.core.views.objects import ObjectView
from flexlet.core.views.pod import PodView

OWNER = ObjectView(uid="uid-web", namespace="default", name="web")
CONTROLLER = Controller("apps/v1", "ReplicaSet")


def view(name: str, **parts: object) -> PodView:
    return pods.view(msgspec.json.encode(pod(name, **parts)))[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [(3, 3, 3), ("25%", 3, 2), ("0%", 0, 0), ("100%", 10, 10), ("1%", 1, 0), (None, 0, 0), ("x", 0, 0)],
)
def test_shares_of_ten(value: int | str | None, up: int, down: int) -> None:
    assert (scaled(value, 10, up=True), scaled(value, 10, up=False)) == (up, down)


@given(st.integers(0, 100), st.integers(0, 100_000))
def test_a_share_rounds_by_less_than_one(percent: int, total: int) -> None:
    down, up = scaled(f"{percent}%", total, up=False), scaled(f"{percent}%", total, up=True)
    assert down <= percent * total / 100 <= up <= down + 1


def test_a_pod_of_a_template() -> None:
    template = msgspec.json.encode(
        {
            "metadata": {"labels": {"a": "b"}, "annotations": {"k": "v"}, "name": "ignored"},
            "spec": {"containers": [{"name": "c"}]},
        }
    )
    assert templates.pod_body(template, CONTROLLER, OWNER) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "web-",
            "labels": {"a": "b"},
            "annotations": {"k": "v"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web",
                    "uid": "uid-web",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"containers": [{"name": "c"}]},
    }


def test_bodies_share_nothing() -> None:
    """A server that fills in one body must not touch the next."""
    template = msgspec.json.encode(TEMPLATE)
    first, second = (templates.pod_body(template, CONTROLLER, OWNER) for _ in range(2))
    first["spec"]["containers"].append({})
    assert second["spec"] == TEMPLATE["spec"]


def test_templates_are_the_same_whatever_their_hash_label_order_and_empty_values() -> None:
    one = b'{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","resources":{}}]}}'
    two = (
        b'{"spec":{"containers":[{"resources":{},"name":"c"}],"volumes":[]},'
        b'"metadata":{"creationTimestamp":null,"labels":{"pod-template-hash":"x","a":"b"}}}'
    )
    other = b'{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"d"}]}}'
    assert templates.digest(one) == templates.digest(two)
    assert templates.digest(one) != templates.digest(other)
    assert templates.hash_of(one, None) == templates.hash_of(two, None)
    assert templates.hash_of(one, None) != templates.hash_of(one, 1)
    assert set(templates.hash_of(other, None)) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_the_order_in_which_pods_go() -> None:
    """Each rule of the order decides between two pods that are alike before it."""
    ordered = [
        view("unassigned", node=""),
        view("pending", phase="Pending"),
        view("unready", ready=False),
        view("cheap", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}),
        view("crowded", node="n2"),
        view("young", status=_ready_since(-60)),
        view("restarted", status=_ready_since(-600) | {"containerStatuses": [{"restartCount": 7}]}),
        view("newer", creationTimestamp=stamp(-700)),
        view("old"),
    ]
    neighbour = view("neighbour", node="n2")
    related = [*ordered, neighbour, neighbour, neighbour, neighbour, neighbour, neighbour, neighbour]
    chosen = removal.first_to_go(reversed(ordered), len(ordered), NOW, related)
    assert [one.name for one in chosen] == [one.name for one in ordered]


def _ready_since(offset: float) -> dict[str, object]:
    return {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(offset)}]}


def test_pods_of_about_one_age_go_in_the_order_of_their_uids() -> None:
    twins = [view("b", creationTimestamp=stamp(-3601)), view("a", creationTimestamp=stamp(-3602))]
    assert [one.name for one in removal.first_to_go(twins, 2, NOW)] == ["a", "b"]


def test_a_pod_is_available_when_it_was_ready_for_long_enough() -> None:
    fresh = view("fresh", status=_ready_since(-10))
    assert readiness.is_available(fresh, 0, NOW)
    assert readiness.is_available(fresh, 10, NOW)
    assert not readiness.is_available(fresh, 11, NOW)
    assert not readiness.is_available(view("unready", ready=False), 0, NOW)
    assert readiness.next_available([fresh, view("old")], 30, NOW) == NOW + 20
    assert readiness.next_available([fresh], 0, NOW) is None


def test_a_condition_is_replaced_only_when_it_says_something_new() -> None:
    before = conditions.made("Ready", "True", "Fine", "", NOW - 60)
    other = conditions.made("Other", "True", "R", "", NOW)
    same = conditions.made("Ready", "True", "Fine", "again", NOW)
    better = conditions.made("Ready", "True", "Better", "", NOW)
    worse = conditions.made("Ready", "False", "Bad", "", NOW)
    assert conditions.put([before, other], same) == [before, other]
    assert conditions.put([before, other], better) == [other, {**better, "lastTransitionTime": stamp(-60)}]
    assert conditions.put([before, other], worse) == [other, worse]
    assert conditions.without([before, other], "Ready") == [other]
