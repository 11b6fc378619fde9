"""ServiceAccounts; their tokens are a subresource with a handler of its own."""

from typing import Final

from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds.strategy import KindStrategy

_ENFORCE_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(KindStrategy):
    """An identity for pods."""

    type_name = "core.v1.ServiceAccount"

    def prepare_create(self, obj: Object) -> None:
        """Of references to secrets only the name is kept."""
        if obj.get("secrets"):
            obj["secrets"] = [
                {key: secret[key] for key in ("name",) if key in secret} for secret in obj["secrets"]
            ]

    def prepare_update(self, obj: Object, old: Object) -> None:
        """As on create."""
        del old
        self.prepare_create(obj)

    def warnings(self, obj: Object) -> list[str]:
        """An annotation that is on its way out."""
        if _ENFORCE_MOUNTABLE not in obj["metadata"].get("annotations", {}):
            return []
        text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{_ENFORCE_MOUNTABLE}]: {text}"]

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Only whoever adds the annotation is warned."""
        return [] if self.warnings(old) else self.warnings(obj)


SERVICE_ACCOUNT: Final = Kind(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    singular="serviceaccount",
    namespaced=True,
    short_names=("sa",),
    schema="core.v1.ServiceAccount",
    strategy=ServiceAccountStrategy(),
    delete_answers_object=True,
    subresources=(
        Subresource(
            name="token",
            verbs=("create",),
            group="authentication.k8s.io",
            version="v1",
            kind="TokenRequest",
        ),
    ),
)
