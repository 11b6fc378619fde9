"""The table of kinds against recorded discovery, and rows against recorded Tables."""

from typing import Any

import msgspec
import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import KINDS, NOW, TIME, Record

from flexlet.apiserver.contract.kind import Kind, Subresource
from flexlet.apiserver.kinds.eventforms import from_core

# Left out on purpose.
NOT_SERVED = {"controllerrevisions", "pods/proxy"}


def discovered() -> list[Any]:
    """Every resource list of the recording, custom resources aside."""
    found = {}
    for record in recordings.lines("discovery"):
        answer = record.get("response_body")
        if isinstance(answer, dict) and answer.get("kind") == "APIResourceList":
            found[answer["groupVersion"]] = answer["resources"]
    return [
        pytest.param(key, found[key], id=key) for key in sorted(found) if not key.startswith("rec.example.com")
    ]


def entry(kind: Kind, sub: Subresource | None = None) -> Record:
    """A resource as plain discovery shows it."""
    fields = {
        "name": f"{kind.plural}/{sub.name}" if sub else kind.plural,
        "singularName": "" if sub else kind.singular,
        "namespaced": kind.namespaced,
        "group": sub.group if sub else "",
        "version": sub.version if sub else "",
        "kind": (sub.kind if sub else "") or kind.kind,
        "verbs": list(sub.verbs if sub else kind.verbs),
        "shortNames": list(() if sub else kind.short_names),
        "categories": list(() if sub else kind.categories),
    }
    always = {"singularName", "namespaced"}
    return {key: value for key, value in fields.items() if value or key in always}


@pytest.mark.parametrize(("group_version", "resources"), discovered())
def test_discovery_lists_what_kube_apiserver_lists(group_version: str, resources: list[Record]) -> None:
    """Names, verbs, short names and categories are the recorded ones, and in the same order."""
    wanted = [
        {key: value for key, value in resource.items() if key != "storageVersionHash"}
        for resource in resources
        if resource["name"] not in NOT_SERVED
    ]
    served = [
        listed
        for kind in KINDS
        if kind.api_version == group_version
        for listed in (entry(kind), *(entry(kind, sub) for sub in kind.subresources))
        if listed["name"] not in NOT_SERVED
    ]
    assert served == wanted


def tables() -> dict[str, Record]:
    """A recorded Table of each kind by group and plural, one with rows if there is any."""
    found: dict[str, Record] = {}
    for record in recordings.lines("tables"):
        kind, _, _ = recordings.target(record["path"])
        answer = record.get("response_body")
        if kind is None or not isinstance(answer, dict) or not answer.get("columnDefinitions"):
            continue
        key = f"{kind.group}/{kind.plural}"
        if len(answer["rows"] or ()) >= len(found.get(key, {}).get("rows") or ()):
            found[key] = answer
    return found


@pytest.mark.parametrize("key", sorted(tables()))
def test_columns_are_the_recorded_ones(key: str) -> None:
    """Names, types, formats, priorities and descriptions."""
    group, _, plural = key.partition("/")
    columns = recordings.kind_of(plural, group).strategy.columns
    assert [msgspec.to_builtins(column) for column in columns] == tables()[key]["columnDefinitions"]


def recorded_rows(plural: str, group: str = "") -> dict[str, list[Any]]:
    """Recorded cells by name, ages as they are thirty seconds after creation."""
    rows = {}
    for row in tables()[f"{group}/{plural}"]["rows"]:
        rows[row["object"]["metadata"]["name"]] = ["30s" if cell == "<age>" else cell for cell in row["cells"]]
    return rows


def shown(kind: Kind, obj: Record) -> list[Any]:
    """The row of an object, thirty seconds old."""
    obj["metadata"].setdefault("creationTimestamp", TIME)
    kind.strategy.default(obj)
    return kind.strategy.cells(obj, NOW + 30)


def test_rows_of_nodes() -> None:
    """Readiness, roles, addresses, versions."""
    kind = recordings.kind_of("nodes")
    nodes = recordings.line("tables", 14)["response_body"]["items"]
    assert {node["metadata"]["name"]: shown(kind, node) for node in nodes} == recorded_rows("nodes")


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
def test_rows_of_events(group: str) -> None:
    """Both groups show the same cells; the stored form is the core group's."""
    kind, core = recordings.kind_of("events", group), recordings.kind_of("events")
    wanted = [row["cells"] for row in recordings.copied(tables()[f"{group}/events"]["rows"])]
    rows = []
    for event in recordings.line("tables", 47)["response_body"]["items"]:
        core.strategy.default(event)
        rows.append(kind.strategy.cells(from_core(event) if group else event, NOW))
    for row in (*wanted, *rows):
        row[0] = row[7] = "age"
    # One more event had come when the objects were recorded.
    assert len(wanted) == 18
    assert [row for row in wanted if row not in rows] == []


TEMPLATE = {"spec": {"containers": [{"name": "web", "image": "nginx:1"}, {"name": "log", "image": "fluent:2"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}
UID = "batch.kubernetes.io/controller-uid"


# One object for each recorded row whose object was not recorded.
OBJECTS: list[Any] = [
    (
        "configmaps",
        "",
        {"metadata": {"name": "cm1"}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}},
    ),
    ("secrets", "", {"metadata": {"name": "s1"}, "data": {"k": "dg=="}}),
    (
        "secrets",
        "",
        {"metadata": {"name": "s2"}, "type": "kubernetes.io/basic-auth", "data": {"username": "eA=="}},
    ),
    ("serviceaccounts", "", {"metadata": {"name": "sa1"}}),
    ("namespaces", "", {"metadata": {"name": "rec-tables"}}),
    (
        "resourcequotas",
        "",
        {
            "metadata": {"name": "rq"},
            "status": {
                "hard": {
                    "pods": "100",
                    "count/configmaps": "9",
                    "limits.memory": "20Gi",
                    "requests.cpu": "10",
                },
                "used": {"pods": "21", "count/configmaps": "2", "limits.memory": "0", "requests.cpu": "1600m"},
            },
        },
    ),
    ("limitranges", "", {"metadata": {"name": "lr"}, "spec": {"limits": []}}),
    (
        "poddisruptionbudgets",
        "policy",
        {"metadata": {"name": "pdb"}, "spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 3}},
    ),
    ("poddisruptionbudgets", "policy", {"metadata": {"name": "pdb2"}, "spec": {"maxUnavailable": "25%"}}),
    ("leases", "coordination.k8s.io", {"metadata": {"name": "l1"}, "spec": {"holderIdentity": "me"}}),
    ("roles", "rbac.authorization.k8s.io", {"metadata": {"name": "r1"}}),
    ("clusterroles", "rbac.authorization.k8s.io", {"metadata": {"name": "rec-cr"}}),
    (
        "rolebindings",
        "rbac.authorization.k8s.io",
        {
            "metadata": {"name": "rb1"},
            "roleRef": {"kind": "Role", "name": "r1"},
            "subjects": [
                {"kind": "User", "name": "alice"},
                {"kind": "Group", "name": "devs"},
                {"kind": "ServiceAccount", "namespace": "rec-tables", "name": "sa1"},
            ],
        },
    ),
    (
        "clusterrolebindings",
        "rbac.authorization.k8s.io",
        {
            "metadata": {"name": "rec-crb"},
            "roleRef": {"kind": "ClusterRole", "name": "rec-cr"},
            "subjects": [{"kind": "User", "name": "bob"}],
        },
    ),
    ("priorityclasses", "scheduling.k8s.io", {"metadata": {"name": "rec-high"}, "value": 1000}),
    (
        "priorityclasses",
        "scheduling.k8s.io",
        {"metadata": {"name": "rec-never"}, "value": -5, "preemptionPolicy": "Never"},
    ),
    ("customresourcedefinitions", "apiextensions.k8s.io", {"metadata": {"name": "widgets.rec.example.com"}}),
]


def workloads() -> list[Any]:
    """The same for workloads; a Job is recognized by the uid in its recorded row."""
    jobs = recorded_rows("jobs", "batch")
    uids = {name: row[-1].partition("=")[2] for name, row in jobs.items()}
    return [
        (
            "deployments",
            "apps",
            {"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}},
        ),
        (
            "replicasets",
            "apps",
            {
                "metadata": {"name": "web-8455d78f5"},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": {"app": "web", "pod-template-hash": "8455d78f5"}},
                    "template": TEMPLATE,
                },
            },
        ),
        (
            "daemonsets",
            "apps",
            {
                "metadata": {"name": "agent"},
                "spec": {
                    "selector": {"matchLabels": {"app": "agent"}},
                    "template": {"spec": {**TEMPLATE["spec"], "nodeSelector": {"none": "such"}}},
                },
            },
        ),
        (
            "jobs",
            "batch",
            {
                "metadata": {"name": "j1"},
                "spec": {"completions": 3, "selector": {"matchLabels": {UID: uids["j1"]}}, "template": TEMPLATE},
                "status": {"startTime": TIME},
            },
        ),
        (
            "jobs",
            "batch",
            {
                "metadata": {"name": "j2"},
                "spec": {"selector": {"matchLabels": {UID: uids["j2"]}}, "template": TEMPLATE},
                "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
            },
        ),
    ]


@pytest.mark.parametrize(
    ("plural", "group", "obj"), [*OBJECTS, *workloads()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_row_is_the_recorded_one(plural: str, group: str, obj: Record) -> None:
    """The cells kubectl prints."""
    name = obj["metadata"]["name"]
    assert shown(recordings.kind_of(plural, group), obj) == recorded_rows(plural, group)[name]


@pytest.mark.parametrize(
    ("spec", "status", "wanted"),
    [
        ({"signerName": "example.com/custom"}, {}, ["<none>", "Pending"]),
        (
            {"signerName": "example.com/custom", "expirationSeconds": 3600},
            {"conditions": [{"type": "Approved", "status": "True"}], "certificate": "eA=="},
            ["60m", "Approved,Issued"],
        ),
        (
            {"signerName": "example.com/custom"},
            {"conditions": [{"type": "Approved"}, {"type": "Denied"}, {"type": "Failed"}]},
            ["<none>", "Denied,Failed"],
        ),
    ],
)
def test_rows_of_certificate_requests(spec: Record, status: Record, wanted: list[str]) -> None:
    """Denied wins over Approved; Failed and Issued are added."""
    kind = recordings.kind_of("certificatesigningrequests", "certificates.k8s.io")
    row = shown(kind, {"metadata": {"name": "c"}, "spec": spec, "status": status})
    assert row == ["c", "30s", "example.com/custom", "", *wanted]
