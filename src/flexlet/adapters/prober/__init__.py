"""Probes and hooks over the network: HTTP, TCP and gRPC, straight on asyncio's streams.

A probe is one short connection, so there is no session, no pool and no cookie jar: a few hundred bytes each way,
and the texts of failures are those that kubelet's own client gives, because people search for them.
"""

from flexlet.adapters.prober.prober import NetworkProber

__all__ = ["NetworkProber"]
