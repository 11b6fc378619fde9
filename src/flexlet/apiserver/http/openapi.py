"""OpenAPI v3 documents, one per group version: enough for ``kubectl apply`` and ``kubectl explain``.

Generated from `flexlet.api.schema`, so a field that is served is a field that is listed. Paths carry what kubectl
looks for: the kind, and the ``dryRun`` and ``fieldValidation`` parameters that tell it to let the server validate.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.http.openapischemas import Schemas
from flexlet.apiserver.http.version import VERSION
from flexlet.apiserver.rest import typed
from flexlet.apiserver.rest.registry import Registry

WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
LIST_PARAMETERS: Final = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
OPERATIONS: Final = {
    "list": ("get", LIST_PARAMETERS),
    "create": ("post", WRITE_PARAMETERS),
    "deletecollection": ("delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
    "get": ("get", ()),
    "update": ("put", WRITE_PARAMETERS),
    "patch": ("patch", (*WRITE_PARAMETERS, "force")),
    "delete": ("delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
}
COLLECTION: Final = ("list", "create", "deletecollection")


class Document(msgspec.Struct, frozen=True):
    """A document and its hash."""

    body: bytes
    hash: str


class OpenApi:
    """All documents of one registry, built when asked for; each is kept until one of its kinds changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._kinds: dict[str, tuple[Kind, ...]] = {}
        self._kept: dict[str, Document] = {}

    def index(self) -> dict[str, Any]:
        """``/openapi/v3``: where each document is."""
        paths = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self.document(path).hash}"}
            for path in sorted(self._sorted_kinds())
        }
        return {"paths": paths}

    def document(self, path: str) -> Document:
        """The document of ``api/v1`` or ``apis/G/V``; KeyError if there is none."""
        kinds = self._sorted_kinds()[path]
        found = self._kept.get(path)
        if found is None:
            found = self._kept[path] = self._build(kinds)
        return found

    def _sorted_kinds(self) -> Mapping[str, tuple[Kind, ...]]:
        """The kinds of each document; documents whose kinds are other ones than before are let go."""
        if self._generation != self._registry.generation:
            kinds: dict[str, tuple[Kind, ...]] = {}
            for kind in self._registry.kinds():
                kinds[_path(kind)] = (*kinds.get(_path(kind), ()), kind)
            self._kept = {
                path: kept for path, kept in self._kept.items() if _are(kinds.get(path), self._kinds[path])
            }
            self._kinds, self._generation = kinds, self._registry.generation
        return self._kinds

    def _build(self, kinds: tuple[Kind, ...]) -> Document:
        schemas = Schemas()
        document = {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
            "paths": dict(entry for kind in kinds for entry in _kind_paths(kind, schemas)),
            "components": {"schemas": schemas.found},
        }
        body = msgspec.json.encode(document)
        return Document(body, hashlib.sha512(body).hexdigest().upper())


def _are(kinds: tuple[Kind, ...] | None, before: tuple[Kind, ...]) -> bool:
    """Whether these are the very same kinds; their strategies know no equality."""
    return kinds is not None and [*map(id, kinds)] == [*map(id, before)]


def _path(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def _kind_paths(kind: Kind, schemas: Schemas) -> Iterator[tuple[str, Any]]:
    reference = schemas.kind(kind, typed.type_of(kind))
    base = f"/{_path(kind)}/"
    place = f"{base}namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}{kind.plural}"
    collection = [verb for verb in kind.verbs if verb in COLLECTION]
    one = [verb for verb in kind.verbs if verb in OPERATIONS and verb not in COLLECTION]
    if collection:
        yield place, _item(kind, collection, reference, named=False)
    if one:
        yield f"{place}/{{name}}", _item(kind, one, reference, named=True)
    if kind.namespaced and "list" in kind.verbs:
        yield f"{base}{kind.plural}", _item(kind, ["list"], reference, named=False, everywhere=True)
    for sub in kind.subresources:
        verbs = [verb for verb in sub.verbs if verb in OPERATIONS]
        yield f"{place}/{{name}}/{sub.name}", _item(kind, verbs, reference, named=True)


def _item(
    kind: Kind, verbs: list[str], reference: Any, *, named: bool, everywhere: bool = False
) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for verb in verbs:
        method, parameters = OPERATIONS[verb]
        item[method] = _operation(kind, verb, parameters, reference)
    names = ["name"] if named else []
    if kind.namespaced and not everywhere:
        names.append("namespace")
    item["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
    ]
    return item


def _operation(kind: Kind, verb: str, parameters: tuple[str, ...], reference: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": reference}}
    operation: dict[str, Any] = {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for name in parameters
        ],
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": {"create": "post", "update": "put"}.get(verb, verb),
        "x-kubernetes-group-version-kind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
    }
    if verb in {"create", "update"}:
        operation["requestBody"] = {"content": content}
    return operation
