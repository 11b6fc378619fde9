"""Which of several faults a client hears of first, and in which words; each as kube-apiserver 1.36.3 answers."""

from typing import Any

import pytest
from tests.apiserver.http.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


async def refusal(admin: Client, method: str, path: str, body: Any, **headers: str) -> tuple[int, str]:
    answer = await admin.ask(method, path, body, **headers)
    assert answer.json["kind"] == "Status", answer.body
    return answer.status, answer.json["message"]


@pytest.mark.parametrize("media", [MERGE, JSON_PATCH, STRATEGIC])
async def test_a_missing_object_comes_before_a_broken_patch(admin: Client, media: str) -> None:
    """Nobody reads a patch of nothing; but a patch of a type that is not served is refused at once."""
    found = await refusal(admin, "PATCH", f"{MAPS}/none", b'{"a":', Content_Type=media)
    assert found == (404, 'configmaps "none" not found')
    found = await refusal(admin, "PATCH", f"{MAPS}/none", b'{"a":', Content_Type="application/json")
    assert found == (415, "415: Unsupported Media Type")


@pytest.mark.parametrize(
    ("patch", "detail"),
    [
        ({"kind": "Pod"}, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        (
            {"kind": "Pod", "spec": 5},
            "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec",
        ),
        (
            {"kind": "Nope", "data": 5},
            'no kind "Nope" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        (
            {"apiVersion": "apps/v1"},
            'no kind "ConfigMap" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
async def test_a_patch_cannot_make_another_kind(admin: Client, patch: Any, detail: str) -> None:
    """A merge patch must leave a document of the same kind; a strategic one never touches it."""
    await admin.ask("POST", MAPS, {"metadata": {"name": "kind"}})
    code, message = await refusal(admin, "PATCH", f"{MAPS}/kind", patch, Content_Type=MERGE)
    assert (code, message.partition('}": ')[2]) == (422, detail)
    named = {key: value for key, value in patch.items() if key in {"kind", "apiVersion"}}
    answer = await admin.ask("PATCH", f"{MAPS}/kind", named, Content_Type=STRATEGIC)
    assert (answer.status, answer.json["kind"], answer.json["apiVersion"]) == (200, "ConfigMap", "v1")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"kind": "Eviction", "apiVersion": "policy/v1"},
            (
                'Eviction in version "v1" cannot be handled as a ConfigMap: converting (v1.Eviction) to'
                " (core.ConfigMap): unknown conversion"
            ),
        ),
        (
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"creationTimestamp": "soon"}},
            (
                'Pod in version "v1" cannot be handled as a ConfigMap: parsing time "soon" as'
                ' "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"'
            ),
        ),
    ],
)
async def test_a_body_of_another_kind_is_read_as_that_first(admin: Client, body: Any, message: str) -> None:
    """Its own faults come before the news that it is the wrong thing."""
    assert await refusal(admin, "POST", MAPS, body) == (400, message)


async def test_bodies_of_subresources_stay_in_their_namespace(admin: Client) -> None:
    """Also where the object they are about is missing."""
    body = {"metadata": {"name": "p", "namespace": "kube-system"}}
    found = await refusal(admin, "POST", "/api/v1/namespaces/default/pods/p/eviction", body)
    assert found == (400, NAMESPACE)


async def test_a_field_manager_must_be_printable(admin: Client) -> None:
    """Each character that is not is named with its place."""
    code, message = await refusal(admin, "POST", f"{MAPS}?fieldManager=a%00b%0A", {"metadata": {"name": "m"}})
    assert code == 422
    assert message == (
        'CreateOptions.meta.k8s.io "" is invalid: ['
        'fieldManager: Invalid value: "a\\x00b\\n": invalid character U+0000 (at position 1), '
        'fieldManager: Invalid value: "a\\x00b\\n": invalid character U+000A (at position 3)]'
    )


@pytest.mark.parametrize("version", ["9" * 5000, "18446744073709551616", "-1", "x"])
async def test_resource_versions_beyond_reason(admin: Client, version: str) -> None:
    """They are refused, however long they are."""
    code, message = await refusal(admin, "GET", f"{MAPS}?resourceVersion={version}", None)
    assert (code, message.partition(":")[0]) == (400, "invalid resource version")


async def test_a_dry_run_may_carry_a_version(admin: Client) -> None:
    """Only storing it would find fault with that."""
    body = {"metadata": {"name": "v", "resourceVersion": "1"}}
    assert (await admin.ask("POST", f"{MAPS}?dryRun=All", body)).status == 201
    assert (await admin.ask("POST", MAPS, body)).status == 500
