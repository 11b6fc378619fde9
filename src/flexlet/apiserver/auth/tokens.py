"""TokenRequest: a service account's token on demand (``POST .../serviceaccounts/NAME/token``).

Order and texts follow upstream's token storage: the account, defaults, validation, admission, the bound object,
then the token. Nothing is stored; the token itself carries what `accounttokens` checks later. A pod's own token
(bound, 3607 s, for this server) lives a year longer than it says, as upstream's does, so that clients which read
their token only once keep working; ``warnafter`` marks when it should have been replaced.
"""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias

from flexlet.api import fielderrors, status
from flexlet.api.age import format_seconds
from flexlet.api.fielderrors import FieldError
from flexlet.api.gotext import quote
from flexlet.apiserver.auth.accounttokens import Bound, Claims, Reference
from flexlet.apiserver.auth.jwt import Signer
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object

GROUP: Final = "authentication.k8s.io"
DEFAULT_SECONDS: Final = 3600
MIN_SECONDS: Final = 600
MAX_SECONDS: Final = 1 << 32
POD_SECONDS: Final = 3607
EXTENDED_SECONDS: Final = 365 * 86400

Admit: TypeAlias = Callable[[Object], Awaitable[None]]
"""Validating admission of the request, run where upstream runs it."""


class Binding(NamedTuple):
    """The objects a token will be bound to."""

    pod: Reference | None = None
    secret: Reference | None = None
    node: Reference | None = None


class TokenRequests:
    """Answers TokenRequests of one server."""

    def __init__(self, view: View, signer: Signer, issuer: str, audiences: tuple[str, ...]) -> None:
        self._view = view
        self._signer = signer
        self._issuer = issuer
        self._audiences = audiences

    async def create(
        self, namespace: str, name: str, request: Object, now: float, admit: Admit | None = None
    ) -> Object:
        """The request completed with a token for the account.

        Raises:
            ApiError: no such account or bound object, or the request breaks a rule.
        """
        metadata = dict(request.get("metadata") or {})
        _require_url(metadata, namespace, name)
        account = _required(self._view, "serviceaccounts", namespace, name)
        answer = self._completed(request, metadata, account, now)
        errors = _validate(answer["spec"])
        if errors:
            raise status.invalid("TokenRequest", GROUP, "", errors)
        if admit is not None:
            await admit(answer)
        answer["status"] = self._issue(answer["spec"], account, now)
        return answer

    def _completed(self, request: Object, metadata: dict[str, Any], account: Object, now: float) -> Object:
        """The request with defaults, the account's metadata and an empty status."""
        uid = account["metadata"]["uid"]
        if metadata.get("uid", uid) != uid:
            detail = (
                f"the UID in the token request ({metadata['uid']}) does not match "
                f"the UID of the service account ({uid})"
            )
            raise status.conflict("TokenRequest", GROUP, account["metadata"]["name"], detail)
        spec = request.get("spec") or {}
        metadata |= {
            "name": account["metadata"]["name"],
            "namespace": account["metadata"]["namespace"],
            "uid": uid,
            "creationTimestamp": format_seconds(now),
        }
        return {
            "kind": "TokenRequest",
            "apiVersion": f"{GROUP}/v1",
            "metadata": metadata,
            "spec": {
                "audiences": spec.get("audiences") or list(self._audiences),
                "expirationSeconds": _seconds(spec),
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {},
        }

    def _issue(self, spec: Object, account: Object, now: float) -> Object:
        metadata = account["metadata"]
        binding = self._binding(spec["boundObjectRef"], metadata["namespace"], metadata["name"])
        seconds = spec["expirationSeconds"]
        extended = seconds == POD_SECONDS and binding.pod is not None and self._serves(spec["audiences"])
        begins = int(now)
        claims = Claims(
            aud=tuple(spec["audiences"]),
            exp=begins + (EXTENDED_SECONDS if extended else seconds),
            iat=begins,
            iss=self._issuer,
            jti=str(uuid.uuid4()),
            kubernetes=Bound(
                namespace=metadata["namespace"],
                node=binding.node,
                pod=binding.pod,
                secret=binding.secret,
                serviceaccount=Reference(metadata["name"], metadata["uid"]),
                warnafter=begins + seconds if extended else None,
            ),
            nbf=begins,
            sub=f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        )
        return {"token": self._signer.sign(claims), "expirationTimestamp": format_seconds(now + seconds)}

    def _serves(self, audiences: list[str]) -> bool:
        return set(audiences) <= set(self._audiences)

    def _binding(self, reference: Object | None, namespace: str, account: str) -> Binding:
        """The object of `boundObjectRef`, which must exist and be the one that is meant."""
        if reference is None:
            return Binding()
        kind, name = reference.get("kind", ""), reference.get("name", "")
        bucket = _BINDABLE.get(kind)
        if bucket is None or "/" in reference.get("apiVersion", ""):
            raise status.bad_request(f"cannot bind token to object of type {_type(reference)}")
        found = _required(self._view, bucket, "" if kind == "Node" else namespace, name)
        if kind == "Pod" and found["spec"].get("serviceAccountName", "") != account:
            detail = "to pod running with different serviceaccount name."
            raise status.bad_request(f"cannot bind token for serviceaccount {quote(account)} {detail}")
        if reference.get("uid") and reference["uid"] != found["metadata"]["uid"]:
            detail = (
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise status.conflict(kind, "", name, detail)
        bound = Reference(name, found["metadata"]["uid"])
        if kind == "Pod":
            return Binding(pod=bound, node=self._node_of(found))
        return Binding(secret=bound) if kind == "Secret" else Binding(node=bound)

    def _node_of(self, pod: Object) -> Reference | None:
        """The pod's node; its name is worth telling even when the node is not registered."""
        name = pod["spec"].get("nodeName", "")
        if not name:
            return None
        node = self._view.get("nodes", "", name)
        return Reference(name, "" if node is None else node["metadata"]["uid"])


_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def openid_configuration(issuer: str, jwks_uri: str, algorithms: list[str]) -> Object:
    """The discovery document for outside verifiers (``/.well-known/openid-configuration``)."""
    return {
        "issuer": issuer,
        "jwks_uri": jwks_uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": algorithms,
    }


def _require_url(metadata: Object, namespace: str, name: str) -> None:
    """A name or namespace in the body must be the URL's."""
    for field, value in (("name", name), ("namespace", namespace)):
        given = metadata.get(field)
        if given and given != value:
            detail = f"must match the service account {field} if specified"
            error = fielderrors.invalid(f"metadata.{field}", given, detail)
            raise status.invalid("TokenRequest", GROUP, name, [error])


def _seconds(spec: Object) -> int:
    seconds = spec.get("expirationSeconds")
    return DEFAULT_SECONDS if seconds is None else int(seconds)


def _validate(spec: Object) -> list[FieldError]:
    field, seconds = "spec.expirationSeconds", spec["expirationSeconds"]
    if seconds < MIN_SECONDS:
        return [fielderrors.invalid(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > MAX_SECONDS:
        return [fielderrors.invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _required(view: View, bucket: str, namespace: str, name: str) -> Object:
    found = view.get(bucket, namespace, name)
    if found is None:
        raise status.not_found(bucket, "", name)
    return found


def _type(reference: Object) -> str:
    """A group, version and kind as Go prints them."""
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    return f"{group}/{version}, Kind={reference.get('kind', '')}"
