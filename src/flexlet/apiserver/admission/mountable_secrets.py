"""The rule of accounts that list which secrets their pods may use.

Only accounts with the annotation ``kubernetes.io/enforce-mountable-secrets`` ask for it. Texts name the first
reference that is not on the list.
"""

from collections.abc import Collection, Iterator
from typing import Final

from flexlet.apiserver.contract.kind import Object

ANNOTATION: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def problem(account: Object, spec: Object) -> str:
    """Why a pod of this account is refused, empty if it is not."""
    if not _enforces(account):
        return ""
    return next(_problems(account, spec), "")


def ephemeral_problem(account: Object, spec: Object) -> str:
    """The same for ephemeral containers alone."""
    if not _enforces(account):
        return ""
    return next(_environment(account, spec, "ephemeral container", "ephemeralContainers"), "")


def _problems(account: Object, spec: Object) -> Iterator[str]:
    allowed = _names(account, "secrets")
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName")
        if volume.get("secret") is not None and secret not in allowed:
            yield f'volume with secret.secretName="{secret}" {_unlisted(account)}'
    yield from _environment(account, spec, "init container", "initContainers")
    yield from _environment(account, spec, "container", "containers")
    pullable = _names(account, "imagePullSecrets")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name") not in pullable:
            text = f'imagePullSecrets[{index}].name="{secret.get("name")}" is not allowed because service account'
            yield f"{text} {account['metadata']['name']} does not reference that imagePullSecret"


def _environment(account: Object, spec: Object, title: str, key: str) -> Iterator[str]:
    allowed = _names(account, "secrets")
    for container in spec.get(key) or ():
        who = f"{title} {container.get('name')}"
        for variable in container.get("env") or ():
            secret = ((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name")
            if secret is not None and secret not in allowed:
                what = f'envVar {variable.get("name")} referencing secret.secretName="{secret}"'
                yield f"{who} with {what} {_unlisted(account)}"
        for source in container.get("envFrom") or ():
            secret = (source.get("secretRef") or {}).get("name")
            if secret is not None and secret not in allowed:
                yield f'{who} with envFrom referencing secret.secretName="{secret}" {_unlisted(account)}'


def _enforces(account: Object) -> bool:
    annotations = account.get("metadata", {}).get("annotations") or {}
    return annotations.get(ANNOTATION) in _TRUE


def _names(account: Object, key: str) -> Collection[str]:
    return {reference.get("name", "") for reference in account.get(key) or ()}


def _unlisted(account: Object) -> str:
    return f"is not allowed because service account {account['metadata']['name']} does not reference that secret"
