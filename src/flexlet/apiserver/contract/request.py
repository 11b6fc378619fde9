"""Who asks for what: the identity and the attributes that authorization and admission look at."""

import msgspec

from flexlet.apiserver.contract.kind import Kind, Object


class User(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller; groups include ``system:authenticated``."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))
LOOPBACK = User(name="system:apiserver", groups=("system:masters", "system:authenticated"))


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """What authorization decides on. For paths outside the API only `user`, `verb` and `path` are set."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""


class Decision(msgspec.Struct, frozen=True):
    """An authorizer's answer; `reason` is shown to the caller either way."""

    allowed: bool
    reason: str = ""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The query parameters of writes."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"


class AdmissionRequest(msgspec.Struct, kw_only=True):
    """A write on its way to the store. `obj` may be changed by mutating plugins; `old` never."""

    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    user: User
    kind: Kind
    subresource: str
    namespace: str
    name: str
    obj: Object | None
    old: Object | None = None
    dry_run: bool = False
    warnings: list[str] = []
