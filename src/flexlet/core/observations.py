"""What can be learned from a Kubernetes API: an object as it now is, or that it is gone."""

import msgspec

from flexlet.core.actions import ApiAction, Ref


class Seen(msgspec.Struct, frozen=True, tag=True, tag_field="observation"):
    """An object was added or changed; `raw` is its JSON."""

    ref: Ref
    raw: bytes


class Vanished(msgspec.Struct, frozen=True, tag=True, tag_field="observation"):
    """An object was deleted."""

    ref: Ref
    namespace: str
    name: str
    uid: str


class Failed(msgspec.Struct, frozen=True, tag=True, tag_field="observation"):
    """An action was refused; `code` and `reason` are the Status', `message` is for people."""

    action: ApiAction
    code: int
    reason: str
    message: str


Observation = Seen | Vanished | Failed
