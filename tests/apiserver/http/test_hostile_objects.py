"""Objects that only somebody ill-meaning writes, through the API of a running server, which then starts again."""

import itertools
import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.apiserver.auth import foreigncerts
from tests.apiserver.auth.foreigncerts import AMBIGUOUS, CN, NODE, ORG, name
from tests.apiserver.http.client import Client
from tests.apiserver.http.test_bootstrap_attack import CSR_PATH, status_of

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver import joining
from flexlet.apiserver.server import ApiServer, Settings, serving

pytestmark = pytest.mark.filterwarnings("ignore:Attribute's length")  # X.520 likes neither 0 nor 65 characters

Object = dict[str, Any]
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLE_PATH = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
GOOD = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE))).public_bytes(Encoding.PEM)
SIGNERS = (
    *("kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"),
    *("kubernetes.io/kubelet-serving", "example.com/mine"),
)
USAGES = (["client auth"], ["server auth"], ["any"], ["digital signature", "client auth"])


def pems() -> list[bytes]:
    """Requests for certificates: ambiguous, with broken SANs, with bytes flipped, cut off, and no requests."""
    dice = random.Random(7)  # noqa: S311  the same bytes each time
    found = [foreigncerts.csr(subject).public_bytes(Encoding.PEM) for subject in AMBIGUOUS.values()]
    sans = (b"\x00", b"\x30\x80", b"\x30\x03\x82\x01\xff", b"\x30\x02\x87\x00", dice.randbytes(40))
    found += [foreigncerts.csr(name((CN, NODE)), san=san).public_bytes(Encoding.PEM) for san in sans]
    der = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE))).public_bytes(Encoding.DER)
    for _ in range(40):
        broken = bytearray(der)
        for _ in range(dice.randint(1, 4)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        found.append(_pem(bytes(broken[: dice.choice((len(der), len(der), dice.randrange(len(der))))])))
    return [*found, b"", b"\x00", b"-----BEGIN CERTIFICATE REQUEST-----", _pem(b""), _pem(dice.randbytes(300))]


def _pem(der: bytes) -> bytes:
    label = b"CERTIFICATE REQUEST-----\n"
    return b"-----BEGIN " + label + b64encode(der) + b"\n-----END " + label


def csrs() -> list[Object]:
    spread = zip(pems(), itertools.cycle(SIGNERS), itertools.cycle(USAGES), strict=False)
    return [
        {"request": b64encode(pem).decode(), "signerName": signer, "usages": usages, "expirationSeconds": 600}
        for pem, signer, usages in spread
    ]


SCHEMAS: tuple[Any, ...] = (
    {"type": "string", "pattern": "("},
    {"type": "string", "pattern": "(a+)+$"},
    {"type": "string", "pattern": "a{1001}"},
    {"type": "string", "pattern": "\ud800"},
    {"type": "string", "format": "\x00", "enum": [None, {}, "a"]},
    {"type": "object", "x-kubernetes-validations": [{"rule": "self.a.all(x, x.all(y, y.matches('(a+)+')))"}]},
    {"type": "object", "x-kubernetes-validations": [{"rule": "("}]},
    {"type": "object", "x-kubernetes-validations": [{"rule": "self == oldSelf", "messageExpression": "1/0"}]},
    {"type": "integer", "x-kubernetes-validations": [{"rule": "self / 0 == 1"}]},
    {"type": "integer", "multipleOf": 0, "minimum": 1e308, "default": -(2**63)},
    {
        "type": "array",
        "items": {"type": "object"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [],
    },
    {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True, "nullable": True},
    {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": 1}},
    {"$ref": "#/definitions/a"},
    {"not": {"not": {"not": {}}}, "type": "object"},
    {},
    7,
)
COLUMNS: tuple[Any, ...] = (
    ".spec[?(@.a==",
    ".spec[-1:]['a']",
    "..",
    "",
    "{.spec}",
    ".spec.\x00",
    "." + "a." * 500,
)


def _nested(depth: int) -> Object:
    schema: Object = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def crds() -> list[Object]:
    """Definitions with odd schemas, columns, names and versions."""
    found = [_crd(index, schema) for index, schema in enumerate((*SCHEMAS, _nested(40)))]
    found += [
        _crd(50 + index, {"type": "object"}, [{"name": "C", "type": "string", "jsonPath": path}])
        for index, path in enumerate(COLUMNS)
    ]
    twin = _crd(80, {"type": "object"})
    twin["spec"]["names"] |= {
        "kind": "List",
        "listKind": "List",
        "shortNames": ["po", "po"],
        "categories": ["all"],
    }
    return [*found, twin]


def _crd(index: int, schema: Any, columns: Any = None) -> Object:
    whole = {"type": "object", "properties": {"spec": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    names = {"plural": f"odd{index}s", "kind": f"Odd{index}", "singular": f"odd{index}"}
    versions = [version if columns is None else version | {"additionalPrinterColumns": columns}]
    spec = {"group": "odd.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": f"odd{index}s.odd.example.com"}, "spec": spec}


def _scoped(scope: str, operator: str) -> Object:
    return {"matchExpressions": [{"scopeName": scope, "operator": operator}]}


QUOTAS: tuple[Any, ...] = (
    {"hard": {"cpu": "-1"}},
    {"hard": {"cpu": "1e400", "memory": "9" * 400}},
    {"hard": {"count/odd1s.odd.example.com": "0", "count/nosuch.": "1", "": "1"}},
    {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort", "Terminating"]},
    {"hard": {"pods": "1"}, "scopes": ["NoSuchScope"]},
    {
        "hard": {"pods": "1"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]},
    },
    {
        "hard": {"cpu": "1"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort", "operator": "Exists"}]},
    },
    {"hard": None, "scopes": None},
)
SELECTORS: tuple[Any, ...] = (
    [{}],
    [{"matchExpressions": [{"key": "a", "operator": "NoSuch", "values": ["b"]}]}],
    [{"matchExpressions": [{"key": "a", "operator": "In"}]}],
    [{"matchLabels": {"a": "\x00"}}],
    [None],
    [],
)


def others() -> list[tuple[str, Object]]:
    """Quotas, namespaces with finalizers, roles, service accounts and events."""
    inside = "/api/v1/namespaces/default"
    found: list[tuple[str, Object]] = [
        *((f"{inside}/resourcequotas", {"spec": spec}) for spec in QUOTAS),
        *((ROLE_PATH, {"aggregationRule": {"clusterRoleSelectors": each}, "rules": None}) for each in SELECTORS),
        (ROLE_PATH, {"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "resourceNames": [""]}]}),
        ("/api/v1/namespaces", {"spec": {"finalizers": ["example.com/never", "kubernetes"]}}),
        ("/api/v1/namespaces", {"spec": {"finalizers": []}}),
        (f"{inside}/serviceaccounts", {"secrets": [{"name": "../../x"}, None], "imagePullSecrets": [{}]}),
    ]
    for stamp in (None, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2020-01-01T00:00:00Z"):
        about = {"kind": "Pod", "namespace": "default", "name": "\u202e"}
        event = {"involvedObject": about, "lastTimestamp": stamp, "count": -(2**31), "message": "\x00" * 1024}
        found.append((f"{inside}/events", event))
    return found


def hostile() -> list[tuple[str, Object]]:
    """Each object with the collection it is posted to."""
    every = [(CSR_PATH, {"spec": spec}) for spec in csrs()]
    every += [(CRD_PATH, body) for body in crds()]
    every += others()
    named = [(path, {"metadata": {"name": f"o{index}"}, **body}) for index, (path, body) in enumerate(every)]
    for path, body in named:
        if path.endswith(("namespaces", "serviceaccounts", "clusterroles")):
            body["metadata"] = {"finalizers": ["example.com/never"], **body["metadata"]}
    return named


async def _approve(admin: Client, path: str) -> None:
    """As somebody careless does: so that the signer, too, has to look at it."""
    found = (await admin.ask("GET", path)).json
    condition = {"type": "Approved", "status": "True", "reason": "Me", "message": ""}
    found["status"] = {"conditions": [condition]}
    assert (await admin.ask("PUT", f"{path}/approval", found)).status < 500


async def _write(admin: Client) -> dict[str, int]:
    """How many were created, by resource; nothing that is written may be a fault of the server's."""
    made: dict[str, int] = {}
    for path, body in hostile():
        answer = await admin.ask("POST", path, body)
        assert answer.status in {201, 400, 403, 422}, (path, body, answer.body)
        if answer.status != 201:
            continue
        plural = path.rpartition("/")[2]
        made[plural] = made.get(plural, 0) + 1
        own = f"{path}/{body['metadata']['name']}"
        if path == CSR_PATH:
            await _approve(admin, own)
        if plural == "customresourcedefinitions":
            await _use(admin, body)
        if plural == "namespaces" or made[plural] % 3 == 0:
            assert (await admin.ask("DELETE", own)).status in {200, 202, 409}
    return made


async def _use(admin: Client, crd: Object) -> None:
    """Write and read objects of a definition; a table reads its columns."""
    path = f"/apis/odd.example.com/v1/namespaces/default/{crd['spec']['names']['plural']}"
    for spec in ({"a": [{"a": "a" * 40}]}, "a" * 40, 0, None):
        kind = {"apiVersion": "odd.example.com/v1", "kind": crd["spec"]["names"]["kind"]}
        answer = await admin.ask("POST", path, {**kind, "metadata": {"generateName": "x"}, "spec": spec})
        assert answer.status in {201, 400, 404, 422}, (crd, spec, answer.body)
    listing = await admin.ask("GET", path, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert listing.status in {200, 404}


async def _serves(server: ApiServer, admin: Client, called: str) -> None:
    """The loops still work: a request is signed, a definition is served; and everything can be read."""
    spec = {"request": b64encode(GOOD).decode(), "signerName": SIGNERS[1], "usages": USAGES[3]}
    assert (await admin.ask("POST", CSR_PATH, {"metadata": {"name": called}, "spec": spec})).status == 201
    await status_of(server, called, "certificate")
    plain = _crd(90, {"type": "object"})
    assert (await admin.ask("POST", CRD_PATH, plain)).status in {201, 409}
    answer = await admin.ask("GET", "/apis/odd.example.com/v1/odd90s")
    assert answer.status == 200
    for path in (
        "/readyz",
        CSR_PATH,
        CRD_PATH,
        ROLE_PATH,
        "/api/v1/resourcequotas",
        "/api/v1/events",
        "/openapi/v3",
    ):
        assert (await admin.ask("GET", path)).status == 200, path


@pytest.mark.slow
async def test_a_server_outlives_what_it_was_given_and_starts_with_it(tmp_path: Path) -> None:
    """Written, looked at by every loop, and found again after a restart: the server serves."""
    for round_ in range(3):
        async with serving(Settings(data=tmp_path / "data"), SystemClock()) as server:
            await joining.allow(server.cluster)
            admin = Client(server, tmp_path, "admin", ["system:masters"])
            try:
                if round_ == 0:
                    made = await _write(admin)
                await _serves(server, admin, f"good-{round_}")
            finally:
                await admin.close()
    kinds = {"certificatesigningrequests", "customresourcedefinitions", "resourcequotas", "clusterroles"}
    assert made.keys() == kinds | {"namespaces", "serviceaccounts", "events"}
