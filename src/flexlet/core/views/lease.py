"""What controllers read of a Lease."""

from typing import Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.core.views.objects import Meta, ObjectView, identity, revision

NODE_LEASES: Final = "kube-node-lease"


class LeaseView(ObjectView, frozen=True, kw_only=True, gc=False):
    """A lease; a node's is renewed while the node is alive."""

    renew_time: str = ""


class _Spec(KubeStruct, frozen=True, kw_only=True):
    renew_time: str | None = None


class _Lease(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()


_decoder: Final = msgspec.json.Decoder(_Lease)


def view(raw: bytes) -> tuple[LeaseView, int]:
    """The lease's view and revision."""
    found = _decoder.decode(raw)
    seen = LeaseView(**identity(found.metadata), renew_time=found.spec.renew_time or "")
    return seen, revision(found.metadata.resource_version)
