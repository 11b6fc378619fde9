"""Paths that are no resource: discovery, OpenAPI, health, metrics."""

import json
import re

import pytest
from tests.apiserver.http.client import Client

from flexlet.apiserver.server import ApiServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_both_forms_of_discovery_say_the_same(admin: Client) -> None:
    """Every resource of the aggregated documents is in the plain ones with the same verbs, and back."""
    aggregated: dict[tuple[str, str, str], list[str]] = {}
    plain: dict[tuple[str, str, str], list[str]] = {}
    for root in ("/api", "/apis"):
        for group in (await admin.ask("GET", root, Accept=AGGREGATED)).json["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                assert version["freshness"] == "Current"
                for entry in version["resources"]:
                    resource = entry["resource"]
                    aggregated[name, version["version"], resource] = entry["verbs"]
                    for sub in entry.get("subresources", ()):
                        aggregated[name, version["version"], f"{resource}/{sub['subresource']}"] = sub["verbs"]
                path = f"/apis/{name}" if name else "/api"
                listed = (await admin.ask("GET", f"{path}/{version['version']}")).json
                for entry in listed["resources"]:
                    plain[name, version["version"], entry["name"]] = entry["verbs"]
    assert aggregated == plain
    assert ("", "v1", "pods/resize") in plain
    assert ("apps", "v1", "deployments/scale") in plain


async def test_discovery_is_asked_for_once(admin: Client) -> None:
    first = await admin.ask("GET", "/apis", Accept=AGGREGATED)
    assert first.headers["Content-Type"] == AGGREGATED
    tag = first.headers["ETag"]
    assert len(tag) == 130
    again = await admin.ask("GET", "/apis", Accept=AGGREGATED, If_None_Match=tag)
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)


async def test_trailing_slashes_do_not_matter(admin: Client) -> None:
    for path in ("/api", "/apis", "/api/v1", "/version"):
        assert (await admin.ask("GET", f"{path}/")).json == (await admin.ask("GET", path)).json


async def test_every_listed_group_version_answers(admin: Client) -> None:
    for group in (await admin.ask("GET", "/apis")).json["groups"]:
        assert (await admin.ask("GET", f"/apis/{group['name']}")).json["name"] == group["name"]
        for version in group["versions"]:
            assert (await admin.ask("GET", f"/apis/{version['groupVersion']}")).status == 200


async def test_openapi_says_where_its_documents_are(admin: Client) -> None:
    index = await admin.ask("GET", "/openapi/v3")
    assert index.headers["Content-Type"] == "text/plain; charset=utf-8"
    place = index.json["paths"]["apis/apps/v1"]["serverRelativeURL"]
    document = (await admin.ask("GET", place)).json
    deployment = document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "kind": "Deployment", "version": "v1"}
    ]
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert {"dryRun", "fieldValidation"} <= {parameter["name"] for parameter in patch["parameters"]}
    assert (await admin.ask("GET", "/openapi/v3/apis/nope/v1")).status == 404


async def test_openapi_refers_to_nothing_that_is_not_there(admin: Client) -> None:
    for place in (await admin.ask("GET", "/openapi/v3")).json["paths"].values():
        text = (await admin.ask("GET", place["serverRelativeURL"])).body.decode()
        schemas = json.loads(text)["components"]["schemas"]
        named = {piece.split('"')[0] for piece in text.split('"#/components/schemas/')[1:]}
        assert named <= set(schemas)


async def test_openapi_carries_what_patches_need(admin: Client) -> None:
    schemas = (await admin.ask("GET", "/openapi/v3/api/v1")).json["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
async def test_a_healthy_server_says_ok(admin: Client, path: str) -> None:
    assert (await admin.ask("GET", path)).body == b"ok"


async def test_a_verbose_check_lists_its_parts(admin: Client) -> None:
    text = (await admin.ask("GET", "/readyz?verbose")).body.decode()
    assert text.splitlines()[0] == "[+]ping ok"
    assert text.splitlines()[-1] == "readyz check passed"


async def test_metrics_count_requests_and_show_the_store(admin: Client) -> None:
    await admin.ask("GET", "/api/v1/namespaces/default/pods/none")
    text = (await admin.ask("GET", "/metrics")).body.decode()
    counted = 'apiserver_request_total{code="404",verb="GET",group="",version="v1",resource="pods",subresource=""}'
    assert any(line.startswith(counted) for line in text.splitlines())
    assert 'kubernetes_feature_enabled{name="PodLevelResources",stage="BETA"} 1' in text.splitlines()
    assert any(line.startswith("flexlet_store_revision ") for line in text.splitlines())


async def test_metrics_show_who_waits_for_a_node(admin: Client) -> None:
    """As kube-scheduler counts it: it falls when a node grows."""
    text = (await admin.ask("GET", "/metrics")).body.decode()
    assert [line for line in text.splitlines() if line.startswith("scheduler_pending_pods")] == [
        'scheduler_pending_pods{queue="active"} 0',
        'scheduler_pending_pods{queue="backoff"} 0',
        'scheduler_pending_pods{queue="gated"} 0',
        'scheduler_pending_pods{queue="unschedulable"} 0',
    ]


async def test_metrics_have_no_names_of_strangers(admin: Client) -> None:
    """Whoever asks for what is not served is counted, but cannot add a series for every path he thinks of."""
    for path in ("/apis/stranger.example/v1/things", "/api/v1/stranger", "/api/v1/namespaces/a/pods/p/stranger"):
        assert (await admin.ask("GET", path)).status == 404
    text = (await admin.ask("GET", "/metrics")).body.decode()
    assert "stranger" not in text
    assert re.search(r'^apiserver_request_total\{.*code="404".*\} \d+$', text, re.MULTILINE)


async def test_outside_verifiers_find_the_issuers_keys(admin: Client) -> None:
    configuration = (await admin.ask("GET", "/.well-known/openid-configuration")).json
    assert configuration["issuer"] == "https://kubernetes.default.svc"
    keys = (await admin.ask("GET", "/openid/v1/jwks")).json
    assert [key["use"] for key in keys["keys"]] == ["sig"]


async def test_the_root_lists_what_there_is(admin: Client, server: ApiServer) -> None:
    paths = (await admin.ask("GET", "/")).json["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/healthz", "/metrics", "/version"} <= set(paths)
    assert server.url.startswith("https://127.0.0.1:")
