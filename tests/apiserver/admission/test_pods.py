"""What admission adds to pods, and which pods it refuses."""

import asyncio
from typing import Any

import pytest
from tests.apiserver.admission.world import World, add_namespace, forbidden_of, new_world, pod, request_of

from flexlet.apiserver.admission.runtime_class import merged
from flexlet.apiserver.admission.service_account import token_projection

MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


async def refused(world: World, obj: Any, **rest: Any) -> Any:
    return await world.refusal(request_of("CREATE", "pods", obj, "ns", **rest))


async def test_nothing_is_created_in_a_missing_namespace() -> None:
    assert await World().refusal(request_of("CREATE", "pods", pod(), "ns")) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'namespaces "ns" not found',
        "reason": "NotFound",
        "details": {"name": "ns", "kind": "namespaces"},
        "code": 404,
    }


async def test_nothing_is_created_in_a_namespace_that_goes_away() -> None:
    world = World()
    world.put("namespaces", {"metadata": {"name": "ns"}, "status": {"phase": "Terminating"}})
    detail = "unable to create new content in namespace ns because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": "namespace ns is being terminated",
        "field": "metadata.namespace",
    }
    assert await refused(world, pod()) == forbidden_of("pods", "p", detail, causes=[cause])


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_three_namespaces_stay(name: str) -> None:
    request = request_of("DELETE", "namespaces", None, old={"metadata": {"name": name}})
    assert await World().refusal(request) == forbidden_of("namespaces", name, "this namespace may not be deleted")


async def test_other_namespaces_may_go() -> None:
    assert await World().admit(request_of("DELETE", "namespaces", None, old={"metadata": {"name": "x"}})) == {}


async def test_the_token_is_mounted_where_nothing_else_is() -> None:
    """Every container has one mount at the place, its own or the token's, and one volume serves all."""
    own = {"name": "mine", "mountPath": MOUNT}
    containers = [{"name": "a", "volumeMounts": [own]}, {"name": "b"}]
    obj = pod(containers=containers, initContainers=[{"name": "i"}], volumes=[{"name": "mine"}])
    spec = (await new_world().create("pods", obj, "ns"))["spec"]
    name = spec["volumes"][1]["name"]
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT}
    assert spec["volumes"] == [{"name": "mine"}, {"name": name, "projected": token_projection()}]
    assert [c["volumeMounts"] for c in (*spec["initContainers"], *spec["containers"])] == [[mount], [own], [mount]]


async def test_a_token_volume_of_the_pods_own_is_used() -> None:
    obj = pod(volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}])
    spec = (await new_world().create("pods", obj, "ns"))["spec"]
    assert spec["volumes"] == [{"name": "kube-api-access-mine", "emptyDir": {}}]
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == ["kube-api-access-mine"]


@pytest.mark.parametrize(
    ("account", "spec", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_the_pod_decides_about_the_token_before_the_account(account: Any, spec: Any, mounted: bool) -> None:
    world = new_world()
    world.put("serviceaccounts", {"metadata": {"name": "default"}, "automountServiceAccountToken": account}, "ns")
    obj = await world.create("pods", pod(automountServiceAccountToken=spec), "ns")
    assert ("volumes" in obj["spec"]) is mounted


@pytest.mark.parametrize(("given", "result"), [(None, [{"name": "pull"}]), ([{"name": "own"}], [{"name": "own"}])])
async def test_pull_secrets_come_from_the_account(given: Any, result: Any) -> None:
    world = new_world()
    world.put("serviceaccounts", {"metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "pull"}]}, "ns")
    spec = {"serviceAccountName": "sa", "imagePullSecrets": given}
    obj = await world.create("pods", pod(**spec), "ns")
    assert (obj["spec"]["imagePullSecrets"], obj["spec"]["serviceAccount"]) == (result, "sa")


async def test_a_pod_needs_its_account() -> None:
    detail = 'error looking up service account ns/a"b: serviceaccount "a\\"b" not found'
    assert await refused(new_world(), pod(serviceAccountName='a"b')) == forbidden_of("pods", "p", detail)


LISTED = "is not allowed because service account sa does not reference that"


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            f'volume with secret.secretName="other" {LISTED} secret',
        ),
        (
            {"containers": [{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "x"}}}]}]},
            f'container c with envVar E referencing secret.secretName="x" {LISTED} secret',
        ),
        (
            {"initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "x"}}]}]},
            f'init container i with envFrom referencing secret.secretName="x" {LISTED} secret',
        ),
        (
            {"imagePullSecrets": [{"name": "pull"}, {"name": "x"}]},
            f'imagePullSecrets[1].name="x" {LISTED} imagePullSecret',
        ),
    ],
)
async def test_an_account_may_limit_the_secrets_of_its_pods(spec: Any, detail: str) -> None:
    world = new_world()
    add_strict_account(world)
    obj = pod(**{"serviceAccountName": "sa", **spec})
    assert await refused(world, obj) == forbidden_of("pods", "p", detail)


def add_strict_account(world: World) -> None:
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account = {
        "metadata": {"name": "sa", "annotations": annotations},
        "secrets": [{"name": "good"}],
        "imagePullSecrets": [{"name": "pull"}],
    }
    world.put("serviceaccounts", account, "ns")


async def test_listed_secrets_are_fine() -> None:
    world = new_world()
    add_strict_account(world)
    env = [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "good"}}}, {"name": "F", "value": "x"}]
    volumes = [{"name": "v", "secret": {"secretName": "good"}}]
    obj = pod(serviceAccountName="sa", containers=[{"name": "c", "env": env}], volumes=volumes)
    assert (await world.create("pods", obj, "ns"))["spec"]["imagePullSecrets"] == [{"name": "pull"}]


async def test_pods_without_an_account_get_no_ephemeral_containers() -> None:
    """Mirror pods have none."""
    request = request_of("UPDATE", "pods", pod(), "ns", old=pod(), subresource="ephemeralcontainers")
    detail = "no service account specified for pod ns/p"
    assert await new_world().refusal(request) == forbidden_of("pods", "p", detail)


async def test_ephemeral_containers_are_held_to_the_same_secrets() -> None:
    world = new_world()
    add_strict_account(world)
    debug = {"name": "d", "envFrom": [{"secretRef": {"name": "x"}}]}
    old = pod(serviceAccountName="sa")
    request = request_of(
        "UPDATE",
        "pods",
        pod(serviceAccountName="sa", ephemeralContainers=[debug]),
        "ns",
        old=old,
        subresource="ephemeralcontainers",
    )
    assert await world.refusal(request) == forbidden_of(
        "pods", "p", f'ephemeral container d with envFrom referencing secret.secretName="x" {LISTED} secret'
    )


async def test_mirror_pods_are_not_changed_by_accounts() -> None:
    obj = pod()
    obj["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "h"}
    spec = (await new_world().create("pods", obj, "ns"))["spec"]
    assert "serviceAccountName" not in spec
    assert "volumes" not in spec


async def test_mirror_pods_project_no_tokens() -> None:
    sources = [{"serviceAccountToken": {"path": "t"}}]
    obj = pod(volumes=[{"name": "v", "projected": {"sources": sources}}])
    obj["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "h"}
    assert await refused(new_world(), obj) == forbidden_of(
        "pods", "p", "a mirror pod may not use ServiceAccountToken volume projections"
    )


def add_class(world: World, name: str, value: int, **rest: Any) -> None:
    policy = {"preemptionPolicy": "PreemptLowerPriority", **rest}
    world.put("priorityclasses", {"metadata": {"name": name}, "value": value, **policy})


async def test_the_smaller_of_two_global_defaults_wins() -> None:
    """A race can make two."""
    world = new_world()
    add_class(world, "big", 9, globalDefault=True)
    add_class(world, "small", 3, globalDefault=True, preemptionPolicy="Never")
    spec = (await world.create("pods", pod(), "ns"))["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("small", 3, "Never")


async def test_an_update_keeps_the_priority() -> None:
    old = pod(priority=7, preemptionPolicy="Never")
    spec = (await new_world().update("pods", pod(), old, "ns"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


async def test_the_global_default_may_change_itself_but_not_be_joined() -> None:
    world = new_world()
    add_class(world, "first", 1, globalDefault=True)
    first = {"metadata": {"name": "first"}, "globalDefault": True, "description": "d"}
    second = {"metadata": {"name": "second"}, "globalDefault": True}
    assert await world.update("priorityclasses", first, first) == first
    detail = "PriorityClass first is already marked as default. Only one default can exist"
    for request in (
        request_of("CREATE", "priorityclasses", second),
        request_of("UPDATE", "priorityclasses", second, old={"metadata": {"name": "second"}}),
    ):
        assert await world.refusal(request) == forbidden_of(
            "priorityclasses", "second", detail, "scheduling.k8s.io"
        )


async def test_system_classes_cannot_be_deleted() -> None:
    name = "system-node-critical"
    request = request_of("DELETE", "priorityclasses", None, old={"metadata": {"name": name}})
    detail = "this is a system priority class and cannot be deleted"
    assert await World().refusal(request) == forbidden_of("priorityclasses", name, detail, "scheduling.k8s.io")


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], ["not-ready", "unreachable"]),
        ([{"operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}], ["not-ready"]),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
    ],
)
async def test_pods_stay_for_a_while_on_silent_nodes(given: Any, added: list[str]) -> None:
    """Unless they say themselves how long; an update brings it to old pods too."""
    expected = [
        *given,
        *(
            {
                "key": f"node.kubernetes.io/{name}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for name in added
        ),
    ]
    world = new_world()
    created = await world.create("pods", pod(tolerations=given), "ns")
    updated = await world.update("pods", pod(tolerations=given), pod(), "ns")
    assert [obj["spec"].get("tolerations") for obj in (created, updated)] == [expected, expected]


async def test_new_nodes_are_not_ready() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    world = new_world()
    fresh = await world.create("nodes", {"metadata": {"name": "n"}})
    tainted = await world.create("nodes", {"metadata": {"name": "n"}, "spec": {"taints": [taint]}})
    assert [fresh["spec"], tainted["spec"]] == [{"taints": [taint]}, {"taints": [taint]}]


def add_runtime(world: World, **rest: Any) -> None:
    world.put("runtimeclasses", {"metadata": {"name": "kata"}, "handler": "kata", **rest})


async def test_a_runtime_class_brings_overhead_and_placement() -> None:
    world = new_world()
    wide = {"operator": "Exists"}
    add_runtime(
        world,
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={"nodeSelector": {"vm": "yes"}, "tolerations": [wide]},
    )
    narrow = {"key": "x", "operator": "Exists", "effect": "NoSchedule"}
    obj = pod(runtimeClassName="kata", nodeSelector={"disk": "ssd"}, tolerations=[narrow])
    spec = (await world.create("pods", obj, "ns"))["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"disk": "ssd", "vm": "yes"}
    assert spec["tolerations"] == [wide]


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ({"runtimeClassName": "odd"}, 'pod rejected: RuntimeClass "odd" not found'),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "kata", "nodeSelector": {"vm": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
        ),
    ],
)
async def test_a_pod_may_not_contradict_its_runtime_class(spec: Any, detail: str) -> None:
    world = new_world()
    add_runtime(world, overhead={"podFixed": {"cpu": "250m"}}, scheduling={"nodeSelector": {"vm": "yes"}})
    assert await refused(world, pod(**spec)) == forbidden_of("pods", "p", detail)


def toleration(key: str = "", **rest: Any) -> Any:
    return {"key": key, "operator": "Exists", **rest}


SHORT = toleration("k", effect="NoExecute", tolerationSeconds=5)
LONG = toleration("k", effect="NoExecute", tolerationSeconds=9)
EQUAL = {"key": "k", "operator": "Equal", "value": "v"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([SHORT, SHORT], [SHORT]),
        ([SHORT, LONG], [LONG]),
        ([SHORT, toleration("k", effect="NoExecute")], [toleration("k", effect="NoExecute")]),
        ([toleration("k", effect="NoExecute"), SHORT], [toleration("k", effect="NoExecute")]),
        ([SHORT, toleration("k", effect="NoSchedule")], [SHORT, toleration("k", effect="NoSchedule")]),
        ([EQUAL, toleration("k")], [toleration("k")]),
        ([EQUAL, {**EQUAL, "value": "w"}], [EQUAL, {**EQUAL, "value": "w"}]),
        ([{**EQUAL, "effect": "NoSchedule"}, EQUAL], [EQUAL]),
        ([toleration("a"), toleration("b")], [toleration("a"), toleration("b")]),
        ([toleration("a"), toleration()], [toleration()]),
    ],
)
def test_tolerations_that_others_cover_are_dropped(given: Any, kept: Any) -> None:
    assert merged(given) == kept


async def test_equal_overhead_is_no_contradiction() -> None:
    world = new_world()
    add_runtime(world, overhead={"podFixed": {"cpu": "250m"}})
    obj = await world.create("pods", pod(runtimeClassName="kata", overhead={"cpu": "0.25"}), "ns")
    assert obj["spec"]["overhead"] == {"cpu": "250m"}


ZONE = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}


async def test_topology_labels_follow_the_node() -> None:
    world = new_world()
    world.put("nodes", {"metadata": {"name": "n", "labels": {**ZONE, "kubernetes.io/os": "linux"}}})
    world.put("pods", pod(), "ns")
    binding = {"metadata": {"name": "p", "labels": {"a": "b"}}, "target": {"kind": "Node", "name": "n"}}
    bound = await world.create("pods", binding, "ns", subresource="binding")
    born = await world.create("pods", pod(nodeName="n"), "ns")
    elsewhere = await world.create("pods", pod(nodeName="unknown"), "ns")
    labels = [obj["metadata"].get("labels") for obj in (bound, born, elsewhere)]
    assert labels == [{"a": "b", **ZONE}, ZONE, None]


async def test_topology_labels_can_be_switched_off() -> None:
    world = new_world({"PodTopologyLabelsAdmission": False})
    world.put("nodes", {"metadata": {"name": "n", "labels": ZONE}})
    obj = await world.create("pods", pod(nodeName="n"), "ns")
    assert "labels" not in obj["metadata"]


def labelled(world: World, **labels: str) -> None:
    add_namespace(
        world, "ns", labels={f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}
    )


HOST = "host namespaces (hostNetwork=true)"


async def test_enforcement_refuses_pods_and_warns_about_templates() -> None:
    world = new_world()
    labelled(world, enforce="baseline")
    detail = f'violates PodSecurity "baseline:latest": {HOST}'
    assert await refused(world, pod(hostNetwork=True)) == forbidden_of("pods", "p", detail)
    deployment = {"metadata": {"name": "d"}, "spec": {"template": {"spec": pod(hostNetwork=True)["spec"]}}}
    request = request_of("CREATE", "deployments", deployment, "ns")
    await world.admit(request)
    assert request.warnings == [f'would violate PodSecurity "baseline:latest": {HOST}']


@pytest.mark.parametrize(("image", "is_judged"), [("x", False), ("y", True)])
async def test_an_update_is_judged_if_it_changes_what_runs(image: str, is_judged: bool) -> None:
    world = new_world()
    labelled(world, warn="baseline")
    new = pod(hostNetwork=True)
    new["spec"]["containers"][0]["image"] = image
    request = request_of("UPDATE", "pods", new, "ns", old=pod(hostNetwork=True))
    await world.admit(request)
    assert bool(request.warnings) is is_judged


async def test_status_updates_are_not_judged() -> None:
    world = new_world()
    labelled(world, enforce="baseline")
    new = pod(hostNetwork=True)
    assert await world.update("pods", new, pod(), "ns", subresource="status") == new


def namespace_with(**labels: str) -> Any:
    keyed = {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    return {"metadata": {"name": "ns", "labels": keyed}}


async def test_wrong_labels_of_a_namespace_are_invalid() -> None:
    """On update only if they are new."""
    world = new_world()
    wrong = namespace_with(enforce="odd")
    answer = await world.refusal(request_of("CREATE", "namespaces", wrong))
    assert (answer["code"], answer["message"]) == (
        422,
        (
            'Namespace "ns" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: '
            'Invalid value: "odd": must be one of privileged, baseline, restricted'
        ),
    )
    assert await world.update("namespaces", wrong, wrong) == wrong


async def test_a_stricter_namespace_hears_about_its_pods() -> None:
    world = new_world()
    for name, spec in (
        ("b", {"hostNetwork": True}),
        ("a", {"hostNetwork": True}),
        ("c", {"hostPID": True}),
        ("d", {}),
    ):
        world.put("pods", pod(name, **spec), "ns")
    world.put("pods", pod("e", hostNetwork=True, volumes=[{"name": "v", "hostPath": {}}]), "ns")
    request = request_of("UPDATE", "namespaces", namespace_with(enforce="baseline"), old=namespace_with())
    await world.admit(request)
    assert request.warnings == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
        "e: host namespaces, hostPath volumes",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"enforce": "baseline"}, {"enforce": "baseline", "warn": "restricted"}),
        ({"enforce": "restricted"}, {"enforce": "baseline"}),
        ({"enforce": "restricted"}, {"enforce": "privileged", "enforce_version": "v1.20"}),
    ],
)
async def test_a_namespace_that_is_not_stricter_hears_nothing(before: Any, after: Any) -> None:
    world = new_world()
    world.put("pods", pod(hostNetwork=True), "ns")
    request = request_of("UPDATE", "namespaces", namespace_with(**after), old=namespace_with(**before))
    await world.admit(request)
    assert request.warnings == []


def test_the_chain_has_upstreams_order() -> None:
    assert [plugin.name for plugin in World().plugins] == [
        "NamespaceLifecycle",
        "LimitRanger",
        "ServiceAccount",
        "NodeRestriction",
        "TaintNodesByCondition",
        "PodSecurity",
        "Priority",
        "DefaultTolerationSeconds",
        "RuntimeClass",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "PodTopologyLabels",
        "NodeDeclaredFeatureValidator",
        "PodResizeValidator",
        "ResourceQuota",
    ]


def test_admission_of_a_plain_pod_never_waits() -> None:
    """Without quotas nothing is written, so a coroutine that suspends would be a mistake."""
    coroutine = new_world().create("pods", pod(), "ns")
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert asyncio.iscoroutine(coroutine)
