"""ConfigMaps."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds import datasize
from flexlet.apiserver.kinds.strategy import KindStrategy, age_of, name_of

FROZEN: Final = "field is immutable when `immutable` is set"


class ConfigMapStrategy(KindStrategy):
    """Text and bytes by key; may be frozen for good."""

    type_name = "core.v1.ConfigMap"

    def check(self, obj: Object) -> list[FieldError]:
        """Keys, keys in both maps, and the size of it all."""
        data, binary = obj.get("data", {}), obj.get("binaryData", {})
        errors = datasize.check_keys("data", data)
        errors += [
            fielderrors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
            for key in data
            if key in binary
        ]
        errors += datasize.check_keys("binaryData", binary)
        if datasize.text_bytes(data) + datasize.decoded_bytes(binary) > datasize.MAX_BYTES:
            # The empty path is printed like this.
            errors.append(fielderrors.too_long("[]", datasize.MAX_BYTES))
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """A frozen one stays as it is."""
        return check_frozen(obj, old, "data", "binaryData")

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The number of keys."""
        return [name_of(obj), len(obj.get("data", {})) + len(obj.get("binaryData", {})), age_of(obj, now)]


def check_frozen(obj: Object, old: Object, *fields: str) -> list[FieldError]:
    """What ``immutable: true`` forbids, its own removal included."""
    if not old.get("immutable"):
        return []
    errors = [] if obj.get("immutable") else [fielderrors.forbidden("immutable", FROZEN)]
    return errors + [fielderrors.forbidden(field, FROZEN) for field in fields if obj.get(field) != old.get(field)]


CONFIG_MAP: Final = Kind(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    singular="configmap",
    namespaced=True,
    short_names=("cm",),
    schema="core.v1.ConfigMap",
    strategy=ConfigMapStrategy(),
)
