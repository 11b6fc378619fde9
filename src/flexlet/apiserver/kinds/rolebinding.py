"""RoleBindings and ClusterRoleBindings: who gets a role; which role is settled at creation."""

from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds.role import RBAC_GROUP
from flexlet.apiserver.kinds.strategy import KindStrategy, age_of, name_of

_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


class RoleBindingStrategy(KindStrategy):
    """A role for subjects, within a namespace."""

    type_name = "rbac.v1.RoleBinding"
    name_rule = staticmethod(names.path_segment)
    roles: tuple[str, ...] = ("Role", "ClusterRole")

    def fill(self, obj: Object) -> None:
        """Roles, users and groups are of the RBAC group; service accounts are core objects."""
        role = obj["roleRef"]
        role["apiGroup"] = role.get("apiGroup") or RBAC_GROUP
        for subject in obj.get("subjects", ()):
            if not subject.get("apiGroup") and subject.get("kind") in {"User", "Group"}:
                subject["apiGroup"] = RBAC_GROUP

    def check(self, obj: Object) -> list[FieldError]:
        """The role, then each subject."""
        errors = self._check_role(obj["roleRef"])
        for index, subject in enumerate(obj.get("subjects", ())):
            errors += self._check_subject(subject, f"subjects[{index}]")
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Another role would be another binding."""
        role = obj["roleRef"]
        if role == old["roleRef"]:
            return []
        keys = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
        shown = {go: role.get(key, "") for go, key in keys}
        return [fielderrors.invalid("roleRef", shown, "cannot change roleRef")]

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The role, and who has it."""
        role, subjects = obj["roleRef"], obj.get("subjects", ())
        users, groups = (_named(subjects, kind) for kind in ("User", "Group"))
        accounts = ", ".join(
            f"{subject.get('namespace', '')}/{subject.get('name', '')}"
            for subject in subjects
            if subject.get("kind") == "ServiceAccount"
        )
        shown = f"{role.get('kind', '')}/{role.get('name', '')}"
        return [name_of(obj), shown, age_of(obj, now), users, groups, accounts]

    def _check_role(self, role: Object) -> list[FieldError]:
        group, kind, name = (role.get(key, "") for key in ("apiGroup", "kind", "name"))
        errors = []
        if group != RBAC_GROUP:
            errors.append(fielderrors.not_supported("roleRef.apiGroup", group, (RBAC_GROUP,)))
        if kind not in self.roles:
            errors.append(fielderrors.not_supported("roleRef.kind", kind, self.roles))
        if not name:
            errors.append(fielderrors.required("roleRef.name"))
        return errors + [fielderrors.invalid("roleRef.name", name, text) for text in names.path_segment(name)]

    def _check_subject(self, subject: Object, field: str) -> list[FieldError]:
        kind, name, group = (subject.get(key, "") for key in ("kind", "name", "apiGroup"))
        errors = [] if name else [fielderrors.required(f"{field}.name")]
        if kind not in _SUBJECTS:
            return [*errors, fielderrors.not_supported(f"{field}.kind", kind, _SUBJECTS)]
        expected = "" if kind == "ServiceAccount" else RBAC_GROUP
        if kind == "ServiceAccount" and name:
            errors += [fielderrors.invalid(f"{field}.name", name, text) for text in names.dns1123_subdomain(name)]
        if group != expected:
            errors.append(fielderrors.not_supported(f"{field}.apiGroup", group, (expected,)))
        if kind == "ServiceAccount" and not self.namespaced and not subject.get("namespace"):
            errors.append(fielderrors.required(f"{field}.namespace"))
        return errors


class ClusterRoleBindingStrategy(RoleBindingStrategy):
    """A role for subjects, everywhere."""

    type_name = "rbac.v1.ClusterRoleBinding"
    namespaced = False
    roles = ("ClusterRole",)


def _named(subjects: Any, kind: str) -> str:
    return ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == kind)


ROLE_BINDING: Final = Kind(
    group=RBAC_GROUP,
    version="v1",
    kind="RoleBinding",
    plural="rolebindings",
    singular="rolebinding",
    namespaced=True,
    schema="rbac.v1.RoleBinding",
    strategy=RoleBindingStrategy(),
    create_on_update=True,
)

CLUSTER_ROLE_BINDING: Final = Kind(
    group=RBAC_GROUP,
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    singular="clusterrolebinding",
    namespaced=False,
    schema="rbac.v1.ClusterRoleBinding",
    strategy=ClusterRoleBindingStrategy(),
    create_on_update=True,
)
