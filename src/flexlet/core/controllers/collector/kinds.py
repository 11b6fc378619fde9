"""Which resource an ownerReference means: built-in kinds, and those that CustomResourceDefinitions add."""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.meta import KubeStruct, OwnerReference
from flexlet.core.actions import Ref


class Served(msgspec.Struct, frozen=True):
    """A resource of the server."""

    ref: Ref
    kind: str
    namespaced: bool


class _Names(KubeStruct, frozen=True, kw_only=True):
    plural: str = ""
    kind: str = ""


class _Version(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    served: bool = False
    storage: bool = False


class _Spec(KubeStruct, frozen=True, kw_only=True):
    group: str = ""
    names: _Names = _Names()
    scope: str = "Namespaced"
    versions: tuple[_Version, ...] = ()


class _Condition(KubeStruct, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""


class _Status(KubeStruct, frozen=True, kw_only=True):
    conditions: tuple[_Condition, ...] | None = ()


class _Definition(KubeStruct, frozen=True, kw_only=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_Definition)


class Kinds:
    """Kinds by API group and name; the version of a reference does not matter."""

    def __init__(self, served: Iterable[Served]) -> None:
        self._kinds = {(one.ref[0], one.kind): one for one in served}

    def of(self, owner: OwnerReference) -> Served | None:
        """What a reference means; None for a kind that is not known."""
        return self._kinds.get((owner.api_version.rpartition("/")[0], owner.kind))

    def define(self, raw: bytes) -> Ref | None:
        """A CustomResourceDefinition was seen; the resource it serves, once it does."""
        definition = _decoder.decode(raw)
        spec, conditions = definition.spec, definition.status.conditions or ()
        if not any(c.type == "Established" and c.status == "True" for c in conditions):
            return None
        served = sorted((v for v in spec.versions if v.served), key=lambda version: not version.storage)
        if not served:
            return None
        ref = (spec.group, served[0].name, spec.names.plural)
        self._kinds[spec.group, spec.names.kind] = Served(ref, spec.names.kind, spec.scope == "Namespaced")
        return ref
