"""``flexlet print-manifests``: what it prints, what the embedded server makes of it, whom the guard refuses."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.cli.policies import Json, Request, refusal

from flexlet.adapters.clock import SystemClock
from flexlet.api import status
from flexlet.api.quantity import Quantity
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.cli.main import run
from flexlet.cli.manifests import PARTS, manifests, objects
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSizeSpec, NodeSizeStatus
from flexlet.ports.cluster import Cluster, Ref

FOLDER = Path(__file__).parents[2] / "src/flexlet/manifests"
NODE_SIZES = Ref(*names.NODE_SIZES)
CONTROLLERS = "system:serviceaccount:flexlet-system:flexlet-controllers"
AGENT = "system:serviceaccount:flexlet-system:flexlet-agent"
OPERATORS = ("flexlet:balloon-operators", "system:authenticated")
APPLIED_AS = {
    "Namespace": Ref("", "v1", "namespaces"),
    "CustomResourceDefinition": Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "PriorityClass": Ref("scheduling.k8s.io", "v1", "priorityclasses"),
    "ServiceAccount": Ref("", "v1", "serviceaccounts"),
    "ClusterRole": Ref("rbac.authorization.k8s.io", "v1", "clusterroles"),
    "ClusterRoleBinding": Ref("rbac.authorization.k8s.io", "v1", "clusterrolebindings"),
    "Role": Ref("rbac.authorization.k8s.io", "v1", "roles"),
    "RoleBinding": Ref("rbac.authorization.k8s.io", "v1", "rolebindings"),
    "Deployment": Ref("apps", "v1", "deployments"),
}
SERVED = ("namespace", "nodesize", "priority", "rbac", "controllers")


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["print-manifests", *arguments])
    shown = capfd.readouterr()
    return code, shown.out, shown.err


def test_all_but_the_controllers_are_printed_as_they_are_written(capfd: pytest.CaptureFixture[str]) -> None:
    files = [FOLDER / file for part, file in PARTS.items() if part != "controllers"]
    assert printed(capfd) == (0, "".join(f"---\n{file.read_text()}" for file in files), "")
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(PARTS.values())


def test_json_is_one_list(capfd: pytest.CaptureFixture[str]) -> None:
    code, text, _ = printed(capfd, "--only", "priority", "-o", "json")
    labels = {"app.kubernetes.io/name": "flexlet"}
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": names.CLASS, "labels": labels},
        "value": names.CLASS_VALUE,
        "preemptionPolicy": "Never",
        "description": "Balloons of flexlet, which make nodes smaller for the scheduler. Nothing else may use it.",
    }
    assert (code, json.loads(text)) == (0, {"kind": "List", "apiVersion": "v1", "items": [priority]})


def test_names_are_chosen_where_they_are_meant() -> None:
    """Kubernetes' own accounts stay in kube-system, wherever balloons live."""
    text = manifests(list(PARTS), "mine", "flexlet-system", ["alice"], "registry/flexlet:1")
    roles = {
        (each["metadata"]["name"], each["metadata"]["namespace"])
        for each in objects(text)
        if each["kind"] == "Role"
    }
    assert roles == {
        ("flexlet-balloons", "flexlet-system"),
        ("flexlet-leader", "mine"),
        ("flexlet-agent", "flexlet-system"),
    }
    assert text.count("'system:serviceaccount:mine:flexlet-agent', 'alice']\"") == 3
    assert "'system:serviceaccount:kube-system:daemon-set-controller'" in text
    *_, deployment = objects(text)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["args"]) == (
        "registry/flexlet:1",
        ["controllers", "--leader-elect", "--lease-namespace=mine", "--balloon-namespace=flexlet-system"],
    )


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (
            ("--namespace", "No"),
            1,
            "error: 'No' is no name of a namespace: use lower case letters, digits and '-'",
        ),
        (("--allow", "it's"), 1, 'error: cannot allow user "it\'s": a name has no spaces, quotes or backslashes'),
        (("--only", "controllers"), 2, "Error: --only controllers needs --image: there is no image to assume"),
    ],
)
def test_what_cannot_be_is_refused(
    capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    found = printed(capfd, *arguments)
    assert (found[0], found[1], found[2].splitlines()[-1]) == (code, "", complaint)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """A server to which all was applied that it serves."""
    async with serving(Settings(data=tmp_path_factory.mktemp("server")), SystemClock()) as running:
        for each in objects(manifests(SERVED, image="flexlet:1")):
            await running.cluster.create(APPLIED_AS[each["kind"]], each["metadata"].get("namespace", ""), each)
        yield running


async def stored(cluster: Cluster, spec: Any) -> Any:
    """The spec that a NodeSize has after it was created with this one, or the complaint."""
    body: Json = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": "n1"}, "spec": spec}
    try:
        made = msgspec.json.decode(await cluster.create(NODE_SIZES, "", body))
    except status.ApiError as error:
        return str(error).removeprefix('NodeSize.flexlet.io "n1" is invalid: ')
    await cluster.delete(NODE_SIZES, "", "n1")
    return made["spec"]


PATTERN = r"^(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$"
DEFAULTS = {"via": "Balloon", "deadlineSeconds": 60, "capacityChange": "Expose", "enforce": "None"}
NOTHING = (
    "spec.target.effective: Invalid value: 0: spec.target.effective in body should have at least 1 properties"
)
NO_MACHINE = (
    "spec.machine: Invalid value: via: Hardware needs to know the machine: name its hypervisor end in spec.machine"
)
MAGIC = (
    '[spec.via: Unsupported value: "Magic": supported values: "Balloon", "Hardware", "Auto", <nil>: Invalid value:'
    " null: some validation rules were not checked because the object was invalid; correct the existing errors to"
    " complete validation]"
)
ONE = {"effective": {"cpu": 8, "memory": "32Gi"}}


SPECS: list[tuple[Json, Any]] = [
    ({}, DEFAULTS),
    ({"target": ONE}, DEFAULTS | {"target": ONE}),
    ({"target": {"balloon": {"cpu": "500m"}}}, DEFAULTS | {"target": {"balloon": {"cpu": "500m"}}}),
    ({"via": "Hardware", "machine": {"qmp": "/q"}}, DEFAULTS | {"via": "Hardware", "machine": {"qmp": "/q"}}),
    ({"target": {}}, "spec.target: Invalid value: give exactly one of effective and balloon"),
    (
        {"target": ONE | {"balloon": {"cpu": "1"}}},
        "spec.target: Invalid value: give exactly one of effective and balloon",
    ),
    (
        {"target": {"effective": {}}},
        NOTHING,
    ),
    (
        {"via": "Hardware"},
        NO_MACHINE,
    ),
    (
        {"via": "Magic"},
        MAGIC,
    ),
]
"""What a NodeSize is created with, and what it has then, or why it is refused; the same on a real server."""


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("spec", "found"), SPECS)
async def test_a_node_size_is_completed_or_refused(server: ApiServer, spec: Json, found: Any) -> None:
    assert await stored(server.cluster, spec) == found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "amount", ["-1", "lots", "1 Gi", ""], ids=["negative", "a word", "with a blank", "nothing"]
)
async def test_amounts_are_quantities(server: ApiServer, amount: str) -> None:
    complaint = await stored(server.cluster, {"target": {"effective": {"memory": amount}}})
    assert complaint == (
        f'spec.target.effective.memory: Invalid value: "{amount}": spec.target.effective.memory in body should'
        f" match '{PATTERN}'"
    )


async def may(server: ApiServer, user: str, verb: str, resource: str, namespace: str = "") -> bool:
    """What the server's own authorizer says; `resource` is ``pods``, ``pods/resize``, ``nodesizes.flexlet.io``."""
    named, _, subresource = resource.partition("/")
    plural, _, group = named.partition(".")
    asked = {"verb": verb, "resource": plural, "group": group, "subresource": subresource, "namespace": namespace}
    body = {"spec": {"user": user, "resourceAttributes": asked}}
    answer = await server.cluster.create(Ref("authorization.k8s.io", "v1", "subjectaccessreviews"), "", body)
    allowed: bool = msgspec.json.decode(answer)["status"]["allowed"]
    return allowed


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("user", "verb", "resource", "namespace", "allowed"),
    [
        (CONTROLLERS, "watch", "nodesizes.flexlet.io", "", True),
        (CONTROLLERS, "patch", "nodesizes.flexlet.io/status", "", True),
        (CONTROLLERS, "patch", "nodes", "", True),
        (CONTROLLERS, "watch", "pods", "", True),
        (CONTROLLERS, "watch", "namespaces", "", True),
        (CONTROLLERS, "create", "pods", "kube-system", True),
        (CONTROLLERS, "patch", "pods/resize", "kube-system", True),
        (CONTROLLERS, "delete", "pods", "kube-system", True),
        (CONTROLLERS, "create", "events", "default", True),
        (CONTROLLERS, "update", "leases.coordination.k8s.io", "flexlet-system", True),
        (CONTROLLERS, "create", "pods", "team", False),
        (CONTROLLERS, "patch", "pods/resize", "team", False),
        (CONTROLLERS, "delete", "pods", "team", False),
        (CONTROLLERS, "delete", "nodes", "", False),
        (CONTROLLERS, "get", "nodes/proxy", "", False),
        (CONTROLLERS, "get", "secrets", "flexlet-system", False),
        (AGENT, "patch", "pods/resize", "kube-system", True),
        (AGENT, "watch", "nodesizes.flexlet.io", "", True),
        (AGENT, "create", "pods", "kube-system", False),
        (AGENT, "patch", "nodesizes.flexlet.io", "", False),
        ("alice", "patch", "nodesizes.flexlet.io", "", False),
    ],
)
async def test_accounts_may_what_they_need_and_no_more(
    server: ApiServer, user: str, verb: str, resource: str, namespace: str, allowed: bool
) -> None:
    assert await may(server, user, verb, resource, namespace) is allowed


def test_the_schema_has_a_place_for_everything_that_the_controller_writes() -> None:
    """What has none would be cut off silently."""
    (definition,) = objects(manifests(["nodesize"]))
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert fields(NodeSizeSpec) - {"target"} == set(schema["spec"]["properties"]) - {"target"}
    assert missing(NodeSizeSpec, schema["spec"]) == []
    assert missing(NodeSizeStatus, schema["status"]) == []


def fields(kind: type[Any]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def missing(kind: Any, schema: Json, path: str = "") -> list[str]:
    """The fields of a Struct that a schema does not know, with all that is below."""
    if getattr(kind, "__origin__", None) is dict or kind is Quantity:
        return []
    found = []
    for field in msgspec.structs.fields(kind):
        below = schema.get("properties", {}).get(field.encode_name)
        if below is None and not schema.get("x-kubernetes-preserve-unknown-fields"):
            found.append(f"{path}.{field.encode_name}")
        for inner in _structs(field.type):
            found += missing(inner, (below or schema).get("items", below or schema), field.encode_name)
    return found


def _structs(kind: Any) -> list[Any]:
    parts = getattr(kind, "__args__", ()) or (kind,)
    return [part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct)]


BALLOON: Json = {
    "metadata": {"name": "flexlet-balloon-n1", "labels": {names.LABEL: "true"}},
    "spec": {"priorityClassName": names.CLASS},
}
PLAIN: Json = {"metadata": {"name": "web"}, "spec": {}}
LABELLED = PLAIN | {"metadata": BALLOON["metadata"]}
CLASSED = PLAIN | {"spec": BALLOON["spec"]}
WORKLOAD = {"spec": {"template": CLASSED}}
OWNED = BALLOON | {"metadata": BALLOON["metadata"] | {"annotations": {names.OWNER: "alice"}}}
USE = (
    "the priority class flexlet-balloon and the label flexlet.io/balloon are for balloons, which flexlet makes in"
    " namespace kube-system; alice may not use them in team"
)
MARK = (
    "what flexlet.io labels and annotations say of a balloon is written by flexlet alone; alice may not change it"
)
INSTEAD = "change the NodeSize instead (flexlet resize node), or join the group flexlet:balloon-operators"
RESIZE = f"alice may not resize balloons: {INSTEAD}"
DELETE = f"alice may not delete balloons: the node would grow by its size; {INSTEAD}"
EVICT = f"alice may not evict balloons: the node would grow by its size; {INSTEAD}"
TEMPLATE = (
    "the priority class flexlet-balloon and the label flexlet.io/balloon are for balloons, which flexlet makes in"
    " namespace kube-system: pods of this template would be refused"
)
HIGH = (
    "priority class mine has the value 950000000: its pods stand beside the balloons that keep nodes small;"
    " 900000000 and less leaves them alone"
)


def asks(user: str, operation: str, resource: str = "pods", **more: Any) -> Request:
    return Request(**({"namespace": "team"} | more), user=user, operation=operation, resource=resource)


def priority(value: int) -> Json:
    return {"metadata": {"name": "mine"}, "value": value}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (asks("alice", "CREATE", object=PLAIN), ""),
        (asks("alice", "CREATE", object=LABELLED), USE),
        (asks("alice", "CREATE", object=CLASSED), USE),
        (asks("alice", "CREATE", object=BALLOON, groups=OPERATORS), USE),
        (asks(CONTROLLERS, "CREATE", object=BALLOON), USE.replace("alice", CONTROLLERS)),
        (asks(CONTROLLERS, "CREATE", object=BALLOON, namespace="kube-system"), ""),
        (
            asks(
                "system:serviceaccount:kube-system:daemon-set-controller",
                "CREATE",
                object=BALLOON,
                namespace="kube-system",
            ),
            "",
        ),
        (asks("alice", "UPDATE", object=LABELLED, old=PLAIN), MARK),
        (asks("alice", "UPDATE", object=CLASSED, old=BALLOON), MARK),
        (asks("alice", "UPDATE", object=OWNED, old=BALLOON), MARK),
        (asks("alice", "UPDATE", object=BALLOON, old=BALLOON), ""),
        (asks("alice", "UPDATE", object=PLAIN, old=PLAIN), ""),
        (asks(CONTROLLERS, "UPDATE", object=OWNED, old=BALLOON), ""),
        (asks("alice", "UPDATE", "pods/resize", object=BALLOON, old=BALLOON), RESIZE),
        (asks("alice", "UPDATE", "pods/resize", object=PLAIN, old=PLAIN), ""),
        (asks("bob", "UPDATE", "pods/resize", object=BALLOON, old=BALLOON, groups=OPERATORS), ""),
        (asks(CONTROLLERS, "UPDATE", "pods/resize", object=BALLOON, old=BALLOON), ""),
        (asks("alice", "DELETE", old=BALLOON), DELETE),
        (asks("alice", "DELETE", old=PLAIN), ""),
        (asks("bob", "DELETE", old=BALLOON, groups=OPERATORS), ""),
        (asks("system:node:n1", "DELETE", old=BALLOON, groups=("system:nodes",)), ""),
        (asks("system:kube-scheduler", "DELETE", old=BALLOON), ""),
        (asks("alice", "CREATE", "pods/eviction", name="flexlet-balloon-n1", namespace="kube-system"), EVICT),
        (asks("alice", "CREATE", "pods/eviction", name="web"), ""),
        (asks("alice", "CREATE", "deployments", object=WORKLOAD), TEMPLATE),
        (asks("alice", "CREATE", "deployments", object={"spec": {"template": PLAIN}}), ""),
        (asks("alice", "CREATE", "podtemplates", object={"template": LABELLED, "metadata": {}}), TEMPLATE),
        (
            asks("alice", "CREATE", "cronjobs", object={"spec": {"jobTemplate": {"spec": {"template": CLASSED}}}}),
            TEMPLATE,
        ),
        (asks(CONTROLLERS, "CREATE", "daemonsets", namespace="kube-system", object=WORKLOAD), ""),
        (asks("alice", "CREATE", "priorityclasses", object=priority(950_000_000)), HIGH),
        (asks("alice", "CREATE", "priorityclasses", object=priority(900_000_000)), ""),
    ],
)  # fmt: skip
def test_the_guard(request_: Request, answer: str) -> None:
    """Tenants make no balloons, change none, and remove none; those who must, can."""
    policies = [each for each in objects(manifests(["guard"])) if each["kind"] == "ValidatingAdmissionPolicy"]
    assert refusal(policies, request_) == answer


def test_every_policy_is_in_force() -> None:
    guard = list(objects(manifests(["guard"])))
    policies = [each["metadata"]["name"] for each in guard if each["kind"] == "ValidatingAdmissionPolicy"]
    bindings = {
        each["spec"]["policyName"]: each["spec"]["validationActions"]
        for each in guard
        if each["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert policies[0] == "flexlet-balloon-guard"
    assert bindings == {name: ["Warn" if name == "flexlet-high-priority" else "Deny"] for name in policies}
