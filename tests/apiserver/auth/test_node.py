"""The Node authorizer beyond the recordings: its graph, and the kinds the recordings do not touch."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.auth import world

from flexlet.apiserver.auth import bootstrap
from flexlet.apiserver.auth.node import NodeAuthorizer
from flexlet.apiserver.auth.podgraph import Bound, PodGraph, bound_pod
from flexlet.apiserver.contract.request import Attributes, Decision, User

NODE = User(name="system:node:n", groups=("system:nodes", "system:authenticated"))


def decide(graph: PodGraph | None = None, **asked: Any) -> Decision:
    authorizer = NodeAuthorizer(graph or PodGraph(), bootstrap.node_rules())
    return authorizer.decide(Attributes(user=asked.pop("user", NODE), **asked))


def test_every_reference_of_a_pod_is_found() -> None:
    """Whatever a pod can name, its node may read."""
    container = {
        "env": [
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s1", "key": "k"}}},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c1", "key": "k"}}},
            {"name": "C", "value": "plain"},
        ],
        "envFrom": [{"secretRef": {"name": "s2"}}, {"configMapRef": {"name": "c2"}}],
    }
    spec = {
        "containers": [container],
        "initContainers": [{"envFrom": [{"secretRef": {"name": "s3"}}]}],
        "ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "c3"}}]}],
        "imagePullSecrets": [{"name": "s4"}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "s5"}},
            {"name": "b", "configMap": {"name": "c4"}},
            {"name": "c", "projected": {"sources": [{"secret": {"name": "s6"}}, {"configMap": {"name": "c5"}}]}},
            {"name": "d", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "s7"}}},
            {"name": "e", "iscsi": {"secretRef": {"name": "s8"}}},
            {"name": "f", "persistentVolumeClaim": {"claimName": "v1"}},
            {"name": "g", "ephemeral": {"volumeClaimTemplate": {}}},
            {"name": "h", "emptyDir": {}},
        ],
    }
    found = bound_pod(world.bound_pod("p", "n", **spec))
    expected = (
        {("secrets", f"s{number}") for number in range(1, 9)}
        | {("configmaps", f"c{number}") for number in range(1, 6)}
        | {("persistentvolumeclaims", name) for name in ("v1", "p-g")}
        | {("pods", "p"), ("serviceaccounts", "default")}
    )
    assert found == Bound("n", frozenset((kind, "rec-adm", name) for kind, name in expected))


def test_a_mirror_pod_gives_its_node_nothing_but_itself() -> None:
    """A node makes its own mirror pods, so they must not widen its rights."""
    pod = world.bound_pod("p", "n", imagePullSecrets=[{"name": "s"}])
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "h"}
    assert bound_pod(pod) == Bound("n", frozenset({("pods", "rec-adm", "p")}))


EVENTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["", "n1", "n2", "gone"]), st.sampled_from(["s1", "s2"]))
)


@given(EVENTS, st.sets(st.integers(0, 20)))
def test_the_graph_equals_the_pods_whenever_it_is_asked(
    events: list[tuple[str, str, str]], asks: set[int]
) -> None:
    """Putting events aside changes nothing about the answers, and keeps no more than the live pods."""
    graph, live = PodGraph(), dict[str, Any]()
    for index, (name, node, secret) in enumerate(events):
        pod = world.bound_pod(name, node, imagePullSecrets=[{"name": secret}])
        deleted = node == "gone"
        live.pop(name, None)
        if not deleted:
            live[name] = pod
        graph.observe("DELETED" if deleted else "MODIFIED", f"rec-adm/{name}", json.dumps(pod).encode())
        if index in asks:
            graph.related("n1", "secrets", "rec-adm", "s1")
    assert len([value for value in graph._waiting.values() if value is not None]) <= len(live)
    expected = {
        (bound.node, *ref) for pod in live.values() if (bound := bound_pod(pod)) for ref in bound.references
    }
    asked = {
        (node, kind, "rec-adm", name)
        for node in ("n1", "n2")
        for kind, name in [("secrets", "s1"), ("secrets", "s2"), *(("pods", pod) for pod in "abc")]
    }
    assert {each for each in asked if graph.related(*each)} == asked & expected


@pytest.mark.parametrize(
    ("asked", "decision"),
    [
        ({"verb": "update", "resource": "secrets"}, "can only read resources of this type"),
        ({"verb": "get", "resource": "secrets", "subresource": "x"}, "cannot read subresource"),
        ({"verb": "list", "resource": "secrets"}, "can only read namespaced object of this type"),
        ({"verb": "list", "resource": "persistentvolumes"}, "can only get individual resources of this type"),
        (
            {"verb": "get", "resource": "persistentvolumeclaims", "subresource": "status"},
            "can only get/update/patch this type",
        ),
        (
            {"verb": "list", "resource": "serviceaccounts"},
            "can only create tokens for individual service accounts",
        ),
        (
            {"verb": "create", "resource": "serviceaccounts", "name": "a"},
            "can only create token subresource of serviceaccount",
        ),
        (
            {"verb": "get", "group": "coordination.k8s.io", "resource": "leases", "namespace": "kube-node-lease"}
            | {"name": "other"},
            "can only access node lease with the same name as the requesting node",
        ),
        ({"verb": "delete", "resource": "nodes", "name": "n"}, ""),
        ({"verb": "get", "resource": "pods", "subresource": "log", "name": "p"}, ""),
        ({"verb": "get", "resource": "nodes", "user": User(name="system:node:n")}, ""),
        (
            {"verb": "get", "resource": "nodes", "user": User(name="system:node:", groups=("system:nodes",))},
            'unknown node for user "system:node:"',
        ),
    ],
)
def test_what_nodes_may_not_do(asked: Any, decision: str) -> None:
    """Each refusal has upstream's reason, or none where RBAC may still allow it."""
    assert decide(**asked) == Decision(allowed=False, reason=decision)


@pytest.mark.parametrize(
    "asked",
    [
        {"verb": "watch", "resource": "pods", "field_selector": "spec.nodeName=n"},
        {"verb": "list", "resource": "pods", "field_selector": "status.phase!=Failed,spec.nodeName==n"},
        {"verb": "patch", "resource": "nodes", "subresource": "status", "name": "n"},
        {"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "ns", "name": "p"},
        {"verb": "create", "group": "certificates.k8s.io", "resource": "certificatesigningrequests"},
    ],
)
def test_what_nodes_may_do(asked: Any) -> None:
    """Their own pods, node, and what the fixed rules give every node."""
    assert decide(**asked) == Decision(allowed=True)


def test_a_selector_that_excludes_or_cannot_be_read_pins_no_node() -> None:
    """Only equality with the own name counts."""
    reason = "can only list/watch pods with spec.nodeName field selector"
    for selector in ("spec.nodeName!=n", "spec.nodeName=m", "nonsense"):
        asked = decide(verb="list", resource="pods", field_selector=selector)
        assert asked == Decision(allowed=False, reason=reason)


VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@pytest.mark.parametrize(
    ("resource", "subresource", "allowed"),
    [
        ("nodes", "", {"get", "list", "watch", "create", "update", "patch"}),
        ("nodes", "status", {"update", "patch"}),
        ("nodes", "proxy", set()),
        ("pods", "", {"create", "delete"}),
        ("pods", "status", {"update", "patch"}),
        ("pods", "eviction", {"create"}),
        ("pods", "exec", set()),
    ],
)
def test_what_a_node_may_do_to_itself_and_to_pods(resource: str, subresource: str, allowed: set[str]) -> None:
    """Everything not named here, on a node of its own name and on a pod that it does not run."""
    namespace = "ns" if resource == "pods" else ""
    found = {
        verb
        for verb in VERBS
        if decide(verb=verb, resource=resource, subresource=subresource, namespace=namespace, name="n").allowed
    }
    assert found == allowed


def test_what_a_node_may_do_to_its_lease() -> None:
    asked: dict[str, Any] = {
        "group": "coordination.k8s.io",
        "resource": "leases",
        "namespace": "kube-node-lease",
        "name": "n",
    }
    found = {verb for verb in VERBS if decide(verb=verb, **asked).allowed}
    assert found == {"get", "create", "update", "patch", "delete"}
