"""ServiceAccount: every pod runs as an account, and finds its token mounted unless it asks not to.

The account ``default`` comes with its namespace, so nobody has to wait for it here.
"""

import random
from typing import Any, Final

from flexlet.api.gotext import quote
from flexlet.apiserver.admission import mountable_secrets
from flexlet.apiserver.admission.pod_references import projections, secret_names
from flexlet.apiserver.admission.refusal import UPDATE, forbidden, is_pod, new_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

DEFAULT_ACCOUNT: Final = "default"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 a directory
VOLUME_PREFIX: Final = "kube-api-access-"
SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
TOKEN_SECONDS: Final = 3607
"""An hour and seven seconds: marks tokens whose use beyond expiry is only warned about."""


class ServiceAccount(Plugin):
    """`source` makes the names of the token volumes."""

    name = "ServiceAccount"

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Choose the account, mount its token, take over its pull secrets; refuse what it may not use."""
        pod = new_pod(request)
        if pod is None:
            return
        spec = pod.setdefault("spec", {})
        if MIRROR_ANNOTATION in (pod.get("metadata", {}).get("annotations") or {}):
            _check_mirror(request, spec)
            return
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = _account(request, view, name)
        if _mounts_token(account, spec):
            self._mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": secret.get("name", "")} for secret in account["imagePullSecrets"]]
        if problem := mountable_secrets.problem(account, spec):
            raise forbidden(request, problem)

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Hold ephemeral containers to the same secrets; a new pod was judged while it was completed."""
        if request.operation != UPDATE or request.subresource != "ephemeralcontainers" or not is_pod(request):
            return
        spec = (request.obj or {}).get("spec") or {}
        name = spec.get("serviceAccountName")
        if not name:
            raise forbidden(request, f"no service account specified for pod {request.namespace}/{request.name}")
        if problem := mountable_secrets.ephemeral_problem(_account(request, view, name), spec):
            raise forbidden(request, problem)

    def _mount_token(self, spec: Object) -> None:
        """Mount the token into every container that has nothing at its place."""
        volumes = spec.get("volumes") or []
        existing = next((v["name"] for v in volumes if v.get("name", "").startswith(VOLUME_PREFIX)), None)
        name = existing or VOLUME_PREFIX + "".join(self._random.choices(SUFFIX_LETTERS, k=5))
        mounted = False
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != TOKEN_PATH for mount in mounts):
                mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
                container["volumeMounts"] = [*mounts, mount]
                mounted = True
        if mounted and existing is None:
            spec["volumes"] = [*volumes, {"name": name, "projected": token_projection()}]


def _account(request: AdmissionRequest, view: View, name: str) -> Object:
    account = view.get("serviceaccounts", request.namespace, name)
    if account is None:
        where = f"{request.namespace}/{name}"
        raise forbidden(
            request, f"error looking up service account {where}: serviceaccount {quote(name)} not found"
        )
    return account


def token_projection() -> dict[str, Any]:
    """The volume with everything a pod needs to talk to the API."""
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }


def _mounts_token(account: Object, spec: Object) -> bool:
    """The pod's word counts before the account's."""
    for part in (spec, account):
        wish = part.get("automountServiceAccountToken")
        if wish is not None:
            return bool(wish)
    return True


def _check_mirror(request: AdmissionRequest, spec: Object) -> None:
    """A mirror pod shows what a node runs by itself: it must not be changed, nor reach for secrets."""
    if spec.get("serviceAccountName"):
        raise forbidden(request, "a mirror pod may not reference service accounts")
    if any(secret_names(spec)):
        raise forbidden(request, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        if any(source.get("serviceAccountToken") is not None for source in projections(volume)):
            raise forbidden(request, "a mirror pod may not use ServiceAccountToken volume projections")
