"""Certificate signing requests: kubelets' own are approved, approved ones are signed.

A request for a kubelet's client certificate is approved when its author may create
``certificatesigningrequests/selfnodeclient`` (renewing its own) or ``/nodeclient`` (a new node with a bootstrap
identity). A node that asks for a serving certificate for itself, and for no name or address but those its Node
reports, is approved too: upstream leaves that to an approver of the operator's, a small cluster has none. It waits
until the Node reports them. Everything else waits for a person. Approved requests of the signers below get a
certificate or a ``Failed`` condition that says why not. Follows ``pkg/controller/certificates/{approver,signer}``.
"""

import asyncio
import contextlib
import logging
from base64 import b64encode
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

import msgspec
from cryptography import x509

from flexlet.api.age import format_seconds
from flexlet.api.status import Conflict, NotFound
from flexlet.apiserver.auth import requests, servingnames
from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.housekeeping.follow import follow
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.core.faults import Faults
from flexlet.errors import InputError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NODES, Cluster, Ref

CSRS: Final = Ref("certificates.k8s.io", "v1", "certificatesigningrequests")
ACCESS_REVIEWS: Final = Ref("authorization.k8s.io", "v1", "subjectaccessreviews")

log: Final = logging.getLogger(__name__)

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


async def approve_and_sign(
    cluster: Cluster, authority: Credential, clock: Clock, hosts: Iterable[str] = (), faults: Faults | None = None
) -> None:
    """Serve signing requests until cancelled; no node gets a certificate for `hosts`, the server's own."""
    isolation = Isolation("certificatesigningrequests", clock, faults)
    office = Office(cluster, authority, clock, hosts, isolation)
    async with asyncio.TaskGroup() as group:
        group.create_task(follow(cluster, CSRS, office.handle, isolation))
        group.create_task(follow(cluster, NODES, office.node_changed, Isolation("nodes", clock, faults)))


class Office:
    """Looks at one request after the other."""

    def __init__(
        self,
        cluster: Cluster,
        authority: Credential,
        clock: Clock,
        hosts: Iterable[str] = (),
        isolation: Isolation | None = None,
    ) -> None:
        self._isolation = isolation or Isolation("certificatesigningrequests", clock)
        self._cluster = cluster
        self._own = servingnames.reserved(hosts)
        self._authority = authority
        self._clock = clock
        self._waiting: dict[str, set[str]] = {}
        """Serving requests by the node that does not report their names yet."""

    async def handle(self, event: str, value: bytes) -> None:
        """Approve and sign as far as the rules allow; a request nobody can read is left alone."""
        csr = _decode(value)
        if event == "DELETED":
            for names in self._waiting.values():
                names.discard(csr["metadata"]["name"])
            return
        try:
            await self._process(csr)
        except (Conflict, NotFound):
            return  # it changed meanwhile: its next event comes
        except InputError as error:
            log.warning("request left alone", extra={"csr": csr["metadata"]["name"], "error": str(error)})

    async def node_changed(self, event: str, value: bytes) -> None:
        """Look again at what the node was not known by before."""
        if event == "DELETED" or not self._waiting:
            return
        for name in self._waiting.pop(_decode(value)["metadata"]["name"], ()):
            await self._isolation.attempt(f"{CSRS.plural}/{name}", partial(self._again, name))

    async def _again(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            await self.handle("MODIFIED", await self._cluster.get(CSRS, "", name))

    async def _process(self, csr: dict[str, Any]) -> None:
        spec = csr["spec"]
        if spec["signerName"] not in requests.SIGNERS or csr.get("status", {}).get("certificate"):
            return
        held = _conditions(csr)
        if held & {"Denied", "Failed"}:
            return
        request = requests.requested(csr)
        if "Approved" not in held:
            approved = await self._approve(csr, request)
            if approved is None:
                return
            csr = approved
        await self._sign(csr, request)

    async def _approve(
        self, csr: dict[str, Any], request: x509.CertificateSigningRequest
    ) -> dict[str, Any] | None:
        """The request with its approval, None where a person must decide."""
        if requests.objection(csr["spec"]["signerName"], request, csr["spec"].get("usages") or ()):
            return None
        if csr["spec"]["signerName"] == requests.KUBELET_CLIENT:
            message = await self._client_reason(csr["spec"], request)
        elif csr["spec"]["signerName"] == requests.KUBELET_SERVING:
            message = await self._serving_reason(csr, request)
        else:
            message = ""
        if not message:
            return None
        condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
        return await self._update(csr, "approval", conditions=[condition])

    async def _client_reason(self, spec: dict[str, Any], request: x509.CertificateSigningRequest) -> str:
        own = spec.get("username") == requests.common_name(request)
        if own and await self._may_create(spec, "selfnodeclient"):
            return "Auto approving self kubelet client certificate after SubjectAccessReview."
        if await self._may_create(spec, "nodeclient"):
            return "Auto approving kubelet client certificate after SubjectAccessReview."
        return ""

    async def _serving_reason(self, csr: dict[str, Any], request: x509.CertificateSigningRequest) -> str:
        spec, user = csr["spec"], requests.common_name(request)
        if spec.get("username") != user or requests.NODES not in (spec.get("groups") or ()):
            return ""
        node, names = user.removeprefix(requests.NODE_PREFIX), requests.names(request)
        if servingnames.is_own(names, self._own):
            return ""  # whoever holds such a certificate can pose as this server
        if servingnames.matches(names, await self._reported(node)):
            return "Auto approving kubelet serving certificate for the addresses of its own Node."
        self._waiting.setdefault(node, set()).add(csr["metadata"]["name"])
        return ""

    async def _reported(self, node: str) -> frozenset[str]:
        try:
            found = _decode(await self._cluster.get(NODES, "", node))
        except NotFound:
            return frozenset()
        return servingnames.reported((found.get("status") or {}).get("addresses") or ())

    async def _may_create(self, spec: dict[str, Any], subresource: str) -> bool:
        asked = {
            "group": "certificates.k8s.io",
            "resource": "certificatesigningrequests",
            "verb": "create",
            "subresource": subresource,
            "version": "*",
        }
        who = {key: spec[key] for key in ("uid", "groups", "extra") if key in spec}
        review: dict[str, Any] = {
            "kind": "SubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {"resourceAttributes": asked, "user": spec.get("username", ""), **who},
        }
        answer = _decode(await self._cluster.create(ACCESS_REVIEWS, "", review))
        return bool(answer["status"]["allowed"])

    async def _sign(self, csr: dict[str, Any], request: x509.CertificateSigningRequest) -> None:
        spec = csr["spec"]
        usages = spec.get("usages") or ()
        objection = requests.objection(spec["signerName"], request, usages)
        if objection:
            failed = {
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": objection,
                "lastUpdateTime": format_seconds(self._clock.now()),
            }
            await self._update(csr, "status", conditions=[failed])
            return
        lifetime = requests.lifetime(spec.get("expirationSeconds"))
        pem = requests.sign_request(self._authority, request, usages, lifetime, self._clock.now())
        await self._update(csr, "status", certificate=b64encode(pem.encode()).decode())

    async def _update(
        self, csr: dict[str, Any], subresource: str, *, conditions: list[Any] | None = None, certificate: str = ""
    ) -> dict[str, Any]:
        status = dict(csr.get("status") or {})
        if conditions:
            status["conditions"] = [*(status.get("conditions") or ()), *conditions]
        if certificate:
            status["certificate"] = certificate
        body = csr | {"status": status}
        name = csr["metadata"]["name"]
        return _decode(await self._cluster.update(CSRS, "", name, body, subresource=subresource))


def _conditions(csr: dict[str, Any]) -> set[str]:
    """The types of the conditions that hold."""
    conditions = (csr.get("status") or {}).get("conditions") or ()
    return {condition["type"] for condition in conditions if condition.get("status") == "True"}
