"""Requests over HTTPS, end to end: what each verb answers and how it fails."""

import gzip
import json
from urllib.parse import quote

import pytest
from tests.apiserver.http.client import TABLE, Client

from flexlet.apiserver.http.bodies import LIMIT_BYTES

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


def config(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_an_object_from_creation_to_its_end(admin: Client) -> None:
    created = await admin.ask("POST", MAPS, config("life", k="1"))
    assert created.status == 201
    assert (await admin.ask("GET", f"{MAPS}/life")).json == created.json
    updated = await admin.ask("PUT", f"{MAPS}/life", config("life", k="2"))
    assert (updated.status, updated.json["data"]) == (200, {"k": "2"})
    patched = await admin.ask("PATCH", f"{MAPS}/life", {"data": {"k": "3"}}, Content_Type=MERGE)
    assert (patched.status, patched.json["data"]) == (200, {"k": "3"})
    listed = await admin.ask("GET", f"{MAPS}?fieldSelector=metadata.name=life")
    item = {key: value for key, value in patched.json.items() if key not in {"kind", "apiVersion"}}
    assert (listed.json["kind"], listed.json["items"]) == ("ConfigMapList", [item])
    deleted = await admin.ask("DELETE", f"{MAPS}/life")
    assert (deleted.status, deleted.json["status"]) == (200, "Success")
    assert (await admin.ask("GET", f"{MAPS}/life")).status == 404


async def test_every_answer_has_its_headers(admin: Client) -> None:
    for path in (f"{MAPS}/none", MAPS, "/version", "/nope"):
        headers = (await admin.ask("GET", path)).headers
        assert headers["Cache-Control"] == "no-cache, private"
        assert len(headers["Audit-Id"]) == 36


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "/api/v1/namespaces/default/foos", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/nodes", 404, "NotFound"),
        ("GET", "/api/v1/configmaps/kube-root-ca.crt", 404, "NotFound"),
        ("GET", f"{MAPS}/c/status", 404, "NotFound"),
        ("GET", "/apis/apps/v9", 404, "NotFound"),
        ("GET", "/api/v2", 404, "NotFound"),
        ("POST", "/api/v1/configmaps", 405, "MethodNotAllowed"),
        ("DELETE", "/api/v1/configmaps", 405, "MethodNotAllowed"),
        ("POST", f"{MAPS}/c", 405, "MethodNotAllowed"),
        ("PUT", MAPS, 405, "MethodNotAllowed"),
        ("PATCH", MAPS, 405, "MethodNotAllowed"),
        ("DELETE", "/api/v1/namespaces", 405, "MethodNotAllowed"),
        ("DELETE", "/api/v1/namespaces/default/pods/p/status", 405, "MethodNotAllowed"),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews", 405, "MethodNotAllowed"),
        ("POST", "/version", 405, "MethodNotAllowed"),
        ("OPTIONS", "/api/v1", 405, "MethodNotAllowed"),
    ],
)
async def test_paths_and_methods_that_are_none(
    admin: Client, method: str, path: str, code: int, reason: str
) -> None:
    answer = await admin.ask(method, path)
    assert (answer.status, answer.json["reason"], answer.json["details"]) == (code, reason, {})


@pytest.mark.parametrize(
    "path", ["/nope", "/apis/nope.example.com/v1/things", "/apis/nope.example.com", "/healthz/no"]
)
async def test_paths_outside_the_api_are_a_plain_404(admin: Client, path: str) -> None:
    answer = await admin.ask("GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "media", "code", "message"),
    [
        (
            b"{nope",
            "application/json",
            400,
            (
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
                "json parse error: invalid character 'n' looking for beginning of object key string ({nope)"
            ),
        ),
        (
            b"",
            "application/json",
            400,
            (
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
                "json parse error: unexpected end of JSON input (<empty>)"
            ),
        ),
        (
            b'{"kind":"Secret","apiVersion":"v1"}',
            "application/json",
            400,
            (
                'Secret in version "v1" cannot be handled as a ConfigMap: '
                "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
            ),
        ),
        (
            b'{"kind":"Foo","apiVersion":"v1"}',
            "application/json",
            400,
            (
                'Foo in version "v1" cannot be handled as a ConfigMap: '
                'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
            ),
        ),
        (
            b'{"metadata":{"name":"x"},"data":"str"}',
            "application/json",
            400,
            (
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
                "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string"
            ),
        ),
        (
            b"a=b",
            "application/x-www-form-urlencoded",
            415,
            (
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            b"x" * (LIMIT_BYTES + 1),
            "application/json",
            413,
            "Request entity too large: limit is 3145728",
        ),
    ],
)
async def test_bodies_that_are_no_object(admin: Client, body: bytes, media: str, code: int, message: str) -> None:
    answer = await admin.ask("POST", MAPS, body, Content_Type=media)
    assert (answer.status, answer.json["message"]) == (code, message)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "nonsense"])
async def test_bodies_are_read_as_they_were_sent(admin: Client, encoding: str) -> None:
    """Like upstream's, the server unpacks nothing: neither a bomb nor half a stream can keep it busy."""
    packed = gzip.compress(json.dumps(config("packed")).encode())
    answer = await admin.ask("POST", f"{MAPS}?dryRun=All", packed, Content_Encoding=encoding)
    head = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind"
    fault = "json parse error: invalid character '\\x1f' looking for beginning of value"
    assert (answer.status, answer.json["message"].partition(" (1f8b")[0]) == (400, f"{head}; {fault}")
    plain = json.dumps(config("plain")).encode()
    answer = await admin.ask("POST", f"{MAPS}?dryRun=All", plain, Content_Encoding=encoding)
    assert answer.status == 201


async def test_long_urls_and_headers_are_read(admin: Client) -> None:
    """A selector may name hundreds of objects; Go's server takes a megabyte."""
    selector = "app in (" + ",".join(f"a{index}" for index in range(5000)) + ")"
    answer = await admin.ask("GET", f"{MAPS}?labelSelector={quote(selector)}", X_Long="y" * 20_000)
    assert (answer.status, answer.json["items"]) == (200, [])


async def test_patch_types_that_are_none(admin: Client) -> None:
    apply = await admin.ask("PATCH", f"{MAPS}/c", {}, Content_Type="application/apply-patch+yaml")
    assert (apply.status, apply.json["reason"]) == (415, "UnsupportedMediaType")
    assert apply.json["message"].endswith(
        "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
    )
    plain = await admin.ask("PATCH", f"{MAPS}/c", {})
    assert (plain.status, plain.json["message"]) == (415, "415: Unsupported Media Type")


async def test_a_body_without_a_content_type_is_json(admin: Client) -> None:
    answer = await admin.ask("POST", f"{MAPS}?dryRun=All", json.dumps(config("a")).encode(), Content_Type="")
    assert answer.status == 201


async def test_yaml_goes_in_and_comes_out(admin: Client) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  k: v\n"
    created = await admin.ask("POST", MAPS, body, Content_Type="application/yaml")
    assert (created.status, created.json["data"]) == (201, {"k": "v"})
    shown = await admin.ask("GET", f"{MAPS}/yaml", Accept="application/yaml")
    assert shown.headers["Content-Type"] == "application/yaml"
    assert shown.body.startswith(b"apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")


async def test_strictness_is_the_clients_choice(admin: Client) -> None:
    body = b'{"metadata":{"name":"s","foo":1},"bar":2,"data":{"a":"1","a":"2"}}'
    warned = await admin.ask("POST", f"{MAPS}?dryRun=All", body)
    assert warned.status == 201
    assert warned.headers.getall("Warning") == [
        '299 - "unknown field \\"metadata.foo\\""',
        '299 - "unknown field \\"bar\\""',
        '299 - "duplicate field \\"data.a\\""',
    ]
    strict = await admin.ask("POST", f"{MAPS}?dryRun=All&fieldValidation=Strict", body)
    assert (strict.status, strict.json["message"]) == (
        400,
        (
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
            'unknown field "metadata.foo", unknown field "bar", duplicate field "data.a"'
        ),
    )
    ignored = await admin.ask("POST", f"{MAPS}?dryRun=All&fieldValidation=Ignore", body)
    assert (ignored.status, ignored.headers.getall("Warning", [])) == (201, [])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        (
            "fieldValidation=Maybe",
            'fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        (f"fieldManager={'x' * 129}", "fieldManager: Too long: may not be more than 128 bytes"),
    ],
)
async def test_write_options_that_mean_nothing(admin: Client, query: str, message: str) -> None:
    answer = await admin.ask("POST", f"{MAPS}?{query}", config("a"))
    expected = f'CreateOptions.meta.k8s.io "" is invalid: {message}'
    assert (answer.status, answer.json["message"]) == (422, expected)


async def test_delete_options_come_in_the_body_or_in_the_query(admin: Client) -> None:
    for query, body in (("?propagationPolicy=Orphan", None), ("", {"propagationPolicy": "Orphan"})):
        await admin.ask("POST", MAPS, config("owner"))
        answer = await admin.ask("DELETE", f"{MAPS}/owner{query}", body)
        assert answer.json["metadata"]["finalizers"] == ["orphan"]
        free = {"metadata": {"finalizers": None}}
        await admin.ask("PATCH", f"{MAPS}/owner", free, Content_Type=MERGE)
    broken = await admin.ask("DELETE", f"{MAPS}/owner", b"{")
    assert broken.json["message"] == "couldn't get version/kind; json parse error: unexpected end of JSON input"


async def test_a_collection_is_deleted_by_selector(admin: Client) -> None:
    for name in ("dc1", "dc2"):
        body = config(name)
        body["metadata"] = {"name": name, "labels": {"dc": name}}
        await admin.ask("POST", MAPS, body)
    answer = await admin.ask("DELETE", f"{MAPS}?labelSelector=dc")
    assert [item["metadata"]["name"] for item in answer.json["items"]] == ["dc1", "dc2"]
    assert (await admin.ask("GET", f"{MAPS}?labelSelector=dc")).json["items"] == []


async def test_large_lists_are_compressed_for_those_who_like(admin: Client) -> None:
    await admin.ask("POST", MAPS, config("large", k="x" * 200_000))
    answer = await admin.ask("GET", f"{MAPS}?fieldSelector=metadata.name=large", Accept_Encoding="gzip")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.json["items"][0]["data"]["k"]) == 200_000
    plain = await admin.ask("GET", f"{MAPS}?fieldSelector=metadata.name=large", Accept_Encoding="identity")
    assert "Content-Encoding" not in plain.headers
    assert plain.body == answer.body


async def test_tables_show_the_columns_people_know(admin: Client) -> None:
    await admin.ask("POST", MAPS, config("table", a="1", b="2"))
    answer = await admin.ask("GET", f"{MAPS}/table", Accept=TABLE)
    table = answer.json
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    row = table["rows"][0]
    assert row["cells"][:2] == ["table", 2]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert set(row["object"]) == {"kind", "apiVersion", "metadata"}
    whole = await admin.ask("GET", f"{MAPS}/table?includeObject=Object", Accept=TABLE)
    assert whole.json["rows"][0]["object"]["data"] == {"a": "1", "b": "2"}
    none = await admin.ask("GET", f"{MAPS}/table?includeObject=None", Accept=TABLE)
    assert none.json["rows"][0]["object"] is None
    wrong = await admin.ask("GET", f"{MAPS}/table?includeObject=Bogus", Accept=TABLE)
    assert (wrong.status, wrong.json["reason"]) == (400, "BadRequest")


async def test_metadata_alone_for_those_who_ask(admin: Client) -> None:
    await admin.ask("POST", MAPS, config("partial"))
    form = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata"
    one = await admin.ask("GET", f"{MAPS}/partial", Accept=form)
    assert (one.json["kind"], set(one.json)) == ("PartialObjectMetadata", {"kind", "apiVersion", "metadata"})
    wrong = await admin.ask("GET", MAPS, Accept=form)
    assert (wrong.status, wrong.json["message"]) == (
        406,
        "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
    )
    many = await admin.ask("GET", MAPS, Accept=form + "List")
    assert many.json["kind"] == "PartialObjectMetadataList"
    assert {item["kind"] for item in many.json["items"]} == {"PartialObjectMetadata"}


async def test_an_unexpected_fault_is_a_status_and_a_log_line(
    admin: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flexlet.apiserver.rest.finished.list_document", lambda *_: 1 / 0)
    answer = await admin.ask("GET", MAPS)
    assert (answer.status, answer.json["reason"]) == (500, "InternalError")
    assert answer.json["message"] == "Internal error occurred: ZeroDivisionError; the server's log says more"
    assert "ZeroDivisionError" in caplog.text


async def test_a_declined_upgrade_ends_its_connection(admin: Client) -> None:
    """What such a client sends next on it could not be told from the stream it wanted."""
    answer = await admin.ask(
        "GET", "/api/v1/namespaces/default/pods/none/exec", b"x", Connection="Upgrade", Upgrade="websocket"
    )
    assert (answer.status, answer.headers.get("Connection")) == (404, "close")
    assert (await admin.ask("GET", "/api")).status == 200
