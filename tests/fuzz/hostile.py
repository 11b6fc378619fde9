"""Bodies that are made to hurt: deep, wide, long, half; each in the place where it hurts most."""

import json
import random
from collections.abc import Callable
from typing import Any, Final

from tests.fuzz import wireformat
from tests.fuzz.corpus import JSON, Request
from tests.fuzz.tenant import NAMESPACE, ODDS

from flexlet.api import schema

YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
STRATEGIC: Final = "application/strategic-merge-patch+json"
MERGE: Final = "application/merge-patch+json"
PATCH: Final = "application/json-patch+json"
CORE: Final = f"/api/v1/namespaces/{NAMESPACE}"
APPS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}"
NAMES: Final = ("one", "two", "three")

Shape = Callable[[random.Random], Request]


def _sent(method: str, path: str, body: bytes | Any, media: str = JSON) -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(method, path, (), (("Content-Type", media),), data)


def _written(rng: random.Random, path: str, value: dict[str, Any]) -> Request:
    """A create or an update of one of a few objects, in JSON or in YAML (of which JSON is a part)."""
    name = rng.choice(NAMES)
    value = {**value, "metadata": {**value.get("metadata", {}), "name": name}}
    media = rng.choice((JSON, JSON, YAML))
    if rng.random() < 0.6:
        return _sent("POST", path, value, media)
    return _sent("PUT", f"{path}/{name}", value, media)


def _container(rng: random.Random, at: int) -> dict[str, Any]:
    more: dict[str, Any] = rng.choice(
        ({}, {"env": [{"name": "A", "value": "b"}]}, {"ports": [{"containerPort": 80}]})
    )
    return {"name": f"c{at}", "image": "i", **more}


def pod(rng: random.Random, containers: int = 1, **spec: Any) -> dict[str, Any]:
    """A pod with so many containers."""
    made = [_container(rng, at) for at in range(containers)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": made, **spec}}


def odd(spec: Any) -> dict[str, Any]:
    """A custom resource."""
    return {"apiVersion": "fuzz.example.com/v1", "kind": "Odd", "metadata": {}, "spec": spec}


def config(data: Any, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _deep(rng: random.Random) -> Request:
    depth = rng.choice((150, 199, 201, 5_000, 100_000))
    opened, closed = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = opened * depth + b"1" + closed * rng.choice((depth, depth, 0))
    head = json.dumps(odd({"free": {}}) | {"metadata": {"name": rng.choice(NAMES)}}).encode()
    whole = head.replace(b'"free": {}', b'"free": {"a": ' + nested + b"}")
    return _sent("POST", ODDS, whole, rng.choice((JSON, YAML)))


def _wide_lists(rng: random.Random) -> Request:
    count = rng.choice((40_000, 49_000, 60_000, 900_000))
    inside = rng.choice((b"[]", b"{}", b"1", b'""'))
    nested = b"[" + b",".join([inside] * count) + b"]"
    place = rng.choice((b"annotations", b"finalizers", b"ownerReferences", b"labels"))
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","%b":%b}}' % (place, nested)
    return _sent("POST", f"{CORE}/configmaps", body, rng.choice((JSON, YAML)))


def _wide_maps(rng: random.Random) -> Request:
    count = rng.choice((5_000, 24_000, 49_000))
    keys = {f"k{at}": rng.choice(("v", "", "x" * 30)) for at in range(count)}
    place = rng.choice(("data", "labels", "annotations"))
    value = config(keys) if place == "data" else config({}, **{place: keys})
    return _written(rng, f"{CORE}/configmaps", value)


def _wide_pod(rng: random.Random) -> Request:
    count = rng.choice((300, 2_000, 8_000, 12_000))
    rows: list[Callable[[int], dict[str, Any]]] = [
        lambda at: {"name": f"v{at}", "emptyDir": {}},
        lambda at: {"key": f"k{at}", "operator": "Exists", "effect": "NoSchedule"},
        lambda at: {"name": f"g{at}"},
        lambda at: {"conditionType": f"example.com/c{at}"},
    ]
    place = rng.randrange(5)
    if place == 4:
        return _written(rng, f"{CORE}/pods", pod(rng, count))
    name = ("volumes", "tolerations", "schedulingGates", "readinessGates")[place]
    return _written(rng, f"{CORE}/pods", pod(rng, 1, **{name: [rows[place](at) for at in range(count)]}))


def _many_mounts(rng: random.Random) -> Request:
    count = rng.choice((500, 3_000))
    value = pod(rng, 1, volumes=[{"name": f"v{at}", "emptyDir": {}} for at in range(count)])
    value["spec"]["containers"][0] |= {
        "volumeMounts": [{"name": f"v{at}", "mountPath": f"/m{at}"} for at in range(count)],
        "env": [{"name": f"E{at}", "value": f"$(E{at - 1})"} for at in range(count)],
        "ports": [{"containerPort": 1 + at, "name": f"p{at}"} for at in range(count)],
    }
    return _written(rng, f"{CORE}/pods", value)


def _owners(rng: random.Random) -> Request:
    """Each owner that wants to be the controller is an error which quotes all of them."""
    owner = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
    owners = [{**owner, "name": f"o{at}"} for at in range(rng.choice((10, 1_000, 8_000)))]
    return _written(rng, f"{CORE}/configmaps", config({}, ownerReferences=owners))


def _ports(rng: random.Random) -> Request:
    """Ports of one number, which all have to do with each other or none does."""
    ports = [
        {"containerPort": 80, "hostPort": (0, 1 + at % 65535, 80)[kind], "hostIP": ("", "", f"10.0.0.{at}")[kind]}
        for kind in (rng.randrange(3),)
        for at in range(rng.choice((100, 9_000)))
    ]
    value = pod(rng, 1)
    value["spec"]["containers"][0]["ports"] = ports
    return _written(rng, f"{CORE}/pods", value)


def _projected(rng: random.Random) -> Request:
    """Files that lie below each other, or nearly."""
    path = rng.choice(("a", "f{0}", "a/{0}", "a/b/../{0}"))
    items = [{"key": "k", "path": path.format(at)} for at in range(rng.choice((100, 12_000)))]
    source = rng.choice(({"projected": {"sources": [{"secret": {"name": "s", "items": items}}]}},))
    return _written(rng, f"{CORE}/pods", pod(rng, 1, volumes=[{"name": "v", **source}]))


def _claims(rng: random.Random) -> Request:
    count = rng.choice((100, 9_000))
    known = [{"name": f"c{at}", "resourceClaimName": "r"} for at in range(count)]
    value = pod(rng, 1, resourceClaims=known)
    names = [{"name": rng.choice(("c{0}", "u{0}")).format(at)} for at in range(count)]
    value["spec"]["containers"][0]["resources"] = {"claims": names}
    return _written(rng, f"{CORE}/pods", value)


def _affinity(rng: random.Random) -> Request:
    values = [str(at) for at in range(rng.choice((1_000, 30_000)))]
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return _written(rng, f"{CORE}/pods", pod(rng, 1, affinity={"nodeAffinity": required}))


def _deployment(rng: random.Random) -> Request:
    made = pod(rng, rng.choice((1, 500, 5_000)))
    value = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {},
        "spec": {
            "replicas": rng.choice((1, 2**31 - 1, -1)),
            "selector": {"matchLabels": {f"a{at}": "b" for at in range(rng.choice((1, 10_000)))}},
            "template": {"metadata": {"labels": {"a0": "b"}}, "spec": made["spec"]},
        },
    }
    return _written(rng, f"{APPS}/deployments", value)


def _strategic(rng: random.Random) -> Request:
    count = rng.choice((100, 2_000, 9_000, 12_000))
    items = [{"name": f"c{rng.randrange(count)}", "image": "j"} for _ in range(count)]
    more: dict[str, Any] = rng.choice(
        (
            {},
            {"$setElementOrder/containers": [{"name": item["name"]} for item in items]},
            {"$retainKeys": ["containers", *map(str, range(count))]},
            {"tolerations": [{"key": f"k{at}", "operator": "Exists"} for at in range(count)]},
        )
    )
    if rng.random() < 0.2:
        items = [{**item, "$patch": "delete"} for item in items]
    finalizers = [f"example.com/f{at}" for at in range(rng.choice((0, count)))]
    value = {"metadata": {"finalizers": finalizers}, "spec": {"containers": items, **more}}
    return _sent("PATCH", f"{CORE}/pods/{rng.choice(NAMES)}", value, STRATEGIC)


def _finalizers(rng: random.Random) -> Request:
    """Scalars that unite, and scalars that go."""
    count = rng.choice((100, 5_000, 24_000))
    texts = [f"example.com/f{at}" for at in range(count)]
    key = rng.choice(("finalizers", "$deleteFromPrimitiveList/finalizers", "$setElementOrder/finalizers"))
    value = {"metadata": {key: texts}}
    return _sent("PATCH", f"{CORE}/configmaps/{rng.choice(NAMES)}", value, rng.choice((STRATEGIC, MERGE)))


def _operations(rng: random.Random) -> Request:
    count = rng.choice((10, 3_000, 9_999, 10_001))
    kind = rng.randrange(6)
    operation: Callable[[int], dict[str, Any]] = (
        lambda at: {"op": "add", "path": f"/data/k{at}", "value": "v"},
        lambda at: {"op": "copy", "from": "/data", "path": f"/metadata/annotations/a{at}"},
        lambda at: {"op": "move", "from": f"/data/k{at}", "path": f"/data/k{at + 1}"},
        lambda _: {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/a"},
        lambda _: {"op": "test", "path": "", "value": {}},
        lambda at: {
            "op": rng.choice(("add", "copy", "nope", None)),
            "path": "/a" * (at % 300),
            "from": "/",
            "x": at,
        },
    )[kind]
    operations = [operation(at) for at in range(count)]
    if kind == 3:
        operations.insert(0, {"op": "add", "path": "/metadata/finalizers", "value": []})
    return _sent("PATCH", f"{CORE}/configmaps/{rng.choice(NAMES)}", operations, PATCH)


def _odd_spec(rng: random.Random) -> Any:
    size = rng.choice((10, 1_000, 100_000, 400_000))
    many = rng.choice((10, 400, 12_000))
    return rng.choice(
        (
            {"pattern": "a" * size + "!"},
            {"text": "a" * size + "b"},
            {"words": ["x" * 99 + str(at) for at in range(many)]},
            {"set": [str(at) for at in range(many)]},
            {"map": [{"name": str(at), "value": {"a": at}} for at in range(many)]},
            {"free": {"a": [{"b": at} for at in range(many)]}},
            {"number": rng.choice((1e308, -1e300, 10**300, 0.1, 2**70))},
            {"time": "2020-01-01T00:00:00." + "1" * size + "Z"},
            {"address": ":" * size},
            {"mail": "a" * size + "@" + "b." * size},
            {"duration": "1" * size + "s"},
            {"duration": "1.5h" * size},
            {"port": "1" * size},
        )
    )


def _custom(rng: random.Random) -> Request:
    return _written(rng, ODDS, odd(_odd_spec(rng)))


def _custom_patch(rng: random.Random) -> Request:
    media = rng.choice((MERGE, MERGE, STRATEGIC))
    place = rng.choice(("", "", "/status"))
    return _sent("PATCH", f"{ODDS}/{rng.choice(NAMES)}{place}", {"spec": _odd_spec(rng)}, media)


def _texts(rng: random.Random) -> Request:
    """Long texts where the server looks for a form."""
    size = rng.choice((300, 100_000, 900_000))
    text = rng.choice(
        ("1" * size, "1" * size + "Ki", "a." * size, "-" * size, "a" * size + "!", "1e" + "9" * size)
    )
    value = pod(rng, 1)
    container = value["spec"]["containers"][0]
    place = rng.randrange(6)
    if place == 0:
        container["resources"] = {"requests": {"cpu": text}, "limits": {text[:60]: "1"}}
    elif place == 1:
        value["spec"]["hostname"] = text
    elif place == 2:
        value["metadata"]["labels"] = {"a": text, text: "b"}
    elif place == 3:
        value["spec"]["hostAliases"] = [{"ip": text, "hostnames": [text]}]
    elif place == 4:
        container["image"] = text
    else:
        value["metadata"]["creationTimestamp"] = text
    return _written(rng, f"{CORE}/pods", value)


def _yaml(rng: random.Random) -> Request:
    """What only YAML can do."""
    count = rng.choice((10, 1_000, 100_000))
    body = rng.choice(
        (
            b"[" * 50_000,
            b"{" * 50_000,
            b"- " * count,
            b"? " * count,
            b"a: &a [x]\nb: [" + b"*a," * count + b"]\n",
            b"a0: &a0 {k: v}\n"
            + b"".join(b"a%d: &a%d {<<: [*a%d,*a%d]}\n" % (i, i, i - 1, i - 1) for i in range(1, 30)),
            b"%TAG !a! tag:x,2000:\n" * count + b"--- {}\n",
            b"k: " + b"1" * count + b"\n",
            b"k: 1:" + b"59:" * count + b"59\n",
            b"k: 0x" + b"f" * count + b"\n",
            b"".join(b"k%d: v\n" % at for at in range(count)),
            b"k: |\n" + b"  line\n" * count,
            b'k: "' + b"\\x41" * count + b'"\n',
            b"# " + b"c" * count + b"\nk: v\n",
            b"---\n" * count,
            b"k: !!binary " + b"QUJD" * count + b"\n",
            b"\xff\xfe" + b"a\x00:\x00 \x00b\x00" * count,
        )
    )
    return _sent("POST", f"{CORE}/configmaps", body, rng.choice((YAML, "application/apply-patch+yaml")))


def _protobuf(rng: random.Random) -> Request:
    group, version, kind, path = rng.choice(
        (
            ("", "v1", "Pod", f"{CORE}/pods"),
            ("", "v1", "ConfigMap", f"{CORE}/configmaps"),
            ("", "v1", "Secret", f"{CORE}/secrets"),
            ("apps", "v1", "Deployment", f"{APPS}/deployments"),
        )
    )
    of = schema.type_for(group, version, kind)
    assert of is not None
    name = rng.choice(NAMES)
    body = wireformat.body(rng, of, f"{group}/{version}".lstrip("/"), kind, name)
    if rng.random() < 0.3:
        body = wireformat.envelope("v1", kind, _bad_message(rng))
    method, path = rng.choice((("POST", path), ("PUT", f"{path}/{name}"), ("DELETE", f"{path}/{name}")))
    return _sent(method, path, body, PROTOBUF)


def _bad_message(rng: random.Random) -> bytes:
    nested = b""
    for _ in range(rng.choice((50, 3_000))):
        nested = wireformat.field(rng.choice((1, 2)), nested)
    count = rng.choice((1_000, 300_000))
    return rng.choice(
        (nested, b"\x0a\x00" * count, b"\x12\x05\x0a\x01a\x12\x00" * count, b"\x08" + b"\xff" * count)
    )


def _bytes(rng: random.Random) -> Request:
    """Text that is no UTF-8, halves of escapes, numbers without end."""
    value = rng.choice(
        (b"\xff" * 1000, b"\\ud800" * 1000, b"\\u12", b"\xc3" + b"\\n" * 100_000, b"\x00", b"\\" * 100_001)
    )
    number = rng.choice(
        (b"1" * 100_000, b"1e" + b"9" * 1000, b"-" * 1000, b"0." + b"0" * 500_000 + b"1", b"1e400")
    )
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","generation":%b},"data":{"k":"%b"}}'
    return _sent(
        "POST", f"{CORE}/configmaps", body % (rng.choice((b"1", number)), value), rng.choice((JSON, YAML))
    )


def _delete(rng: random.Random) -> Request:
    path = rng.choice((f"{CORE}/pods", f"{CORE}/configmaps", ODDS, f"{APPS}/deployments"))
    options = rng.choice(
        (b"", b"[" * 5000, b'{"gracePeriodSeconds": 1e99}', b'{"preconditions":{"uid":"%b"}}' % (b"u" * 100_000))
    )
    return _sent("DELETE", f"{path}/{rng.choice(NAMES)}", options, rng.choice((JSON, YAML)))


SHAPES: Final[tuple[Shape, ...]] = (
    _deep,
    _wide_lists,
    _wide_maps,
    _wide_pod,
    _many_mounts,
    _owners,
    _ports,
    _projected,
    _claims,
    _affinity,
    _deployment,
    _strategic,
    _strategic,
    _finalizers,
    _operations,
    _custom,
    _custom,
    _custom_patch,
    _texts,
    _yaml,
    _protobuf,
    _protobuf,
    _bytes,
    _delete,
    _delete,
)


def request(rng: random.Random) -> Request:
    """One of them; sometimes it asks for its answer in another form, or calls its body something else."""
    made = rng.choice(SHAPES)(rng)
    if rng.random() < 0.1:
        made = made._replace(
            headers=(*made.headers, ("Accept", rng.choice((YAML, "application/json;as=Table;v=v1;g=meta.k8s.io"))))
        )
    if rng.random() < 0.05:
        media = rng.choice(("text/plain", "", PROTOBUF, MERGE, "application/cbor", YAML))
        made = made._replace(headers=(("Content-Type", media),))
    if rng.random() < 0.03 and made.body:
        made = made._replace(body=made.body[: len(made.body) // 2])
    return made
