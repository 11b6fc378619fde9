"""ConfigMaps, Secrets and service-account tokens that pods are made from.

Objects are fetched when they are needed and kept for a short while, so that a pod whose containers share one asks
once; a node may read only what its pods name, so there is nothing to watch. Tokens are renewed when four fifths of
their life, or a day, have passed; while that fails the old one serves until its end.
"""

import base64
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api import age
from flexlet.api.nodepod import NodePod
from flexlet.api.status import ApiError, NotFound
from flexlet.core.agent.containers.contents import Content, Material, Reference, TokenRequest
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

_REFS: Final = {"ConfigMap": Ref("", "v1", "configmaps"), "Secret": Ref("", "v1", "secrets")}
_ACCOUNTS: Final = Ref("", "v1", "serviceaccounts")
_FRESH_S: Final = 1.0
_SPENT: Final = 0.8
_MOST: Final = 2000

_LONGEST_S: Final = 24 * 3600.0

_Kept = tuple[float, Content | None]


class _Token(msgspec.Struct, frozen=True):
    text: str
    renew_at: float
    ends_at: float


class Objects:
    """Fetches what pods name."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._kept: dict[tuple[str, Reference], _Kept] = {}
        self._tokens: dict[tuple[str, TokenRequest], _Token] = {}

    async def material(
        self, pod: NodePod, references: Iterable[Reference], tokens: Iterable[TokenRequest] = ()
    ) -> Material:
        """Everything named; ApiError if the API cannot be asked."""
        objects = {each: await self._object(pod.metadata.namespace, each) for each in references}
        return Material(objects=objects, tokens={each: await self._token(pod, each) for each in tokens})

    async def _object(self, namespace: str, reference: Reference) -> Content | None:
        key = (namespace, reference)
        kept = self._kept.get(key)
        now = self._clock.monotonic()
        if kept is None or now - kept[0] > _FRESH_S:
            if len(self._kept) > _MOST:
                self._kept.clear()
            kept = self._kept[key] = (now, await self._fetch(namespace, reference))
        return kept[1]

    async def _fetch(self, namespace: str, reference: Reference) -> Content | None:
        try:
            raw = await self._cluster.get(_REFS[reference.kind], namespace, reference.name)
        except NotFound:
            return None
        return _content(msgspec.json.decode(raw), reference.kind)

    async def _token(self, pod: NodePod, request: TokenRequest) -> str:
        key = (pod.metadata.uid, request)
        now = self._clock.now()
        kept = self._tokens.get(key)
        if kept is not None and now <= kept.renew_at:
            return kept.text
        try:
            kept = self._tokens[key] = await self._requested(pod, request, now)
        except ApiError:
            if kept is None or now >= kept.ends_at:
                raise
        return kept.text

    async def _requested(self, pod: NodePod, request: TokenRequest, now: float) -> _Token:
        account = pod.spec.service_account_name or "default"
        body = _token_body(pod, request)
        raw = await self._cluster.create(_ACCOUNTS, pod.metadata.namespace, body, path=f"{account}/token")
        status = msgspec.json.decode(raw)["status"]
        ends = age.parse(status["expirationTimestamp"]).timestamp()
        return _Token(status["token"], now + min((ends - now) * _SPENT, _LONGEST_S), ends)

    def forget(self, uid: str) -> None:
        """Drop a pod's tokens."""
        for key in [key for key in self._tokens if key[0] == uid]:
            del self._tokens[key]


def _content(found: dict[str, Any], kind: str) -> Content:
    """What an object holds; values of a Secret and binary ones of a ConfigMap travel as base64."""
    data: dict[str, str] = found.get("data") or {}
    if kind == "Secret":
        return Content(_plain(data), type=found.get("type") or "")
    return Content({key: value.encode() for key, value in data.items()}, _plain(found.get("binaryData") or {}))


def _plain(values: dict[str, str]) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in values.items()}


def _token_body(pod: NodePod, request: TokenRequest) -> dict[str, Any]:
    meta = pod.metadata
    bound = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid}
    spec: dict[str, Any] = {"expirationSeconds": request.expiration_s, "boundObjectRef": bound}
    if request.audience:
        spec["audiences"] = [request.audience]
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
