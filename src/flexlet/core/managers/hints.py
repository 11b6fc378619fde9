"""What a resource manager can offer, in NUMA nodes; the topology manager picks one offer for all resources."""

import msgspec

from flexlet.api.cpuset import CpuSet


class Hint(msgspec.Struct, frozen=True):
    """Nodes that could serve a request; None means any. Preferred: no smaller set of nodes ever could."""

    nodes: CpuSet | None = None
    preferred: bool = True


ResourceHints = dict[str, tuple[Hint, ...] | None]
"""By resource. None: this resource does not care. Empty: it cannot be served at all."""
