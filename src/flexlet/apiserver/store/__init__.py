"""The storage of the API server: keys, revisions and finished bytes, on one SQLite file.

It knows nothing of Kubernetes; it offers what etcd offers to kube-apiserver. Callers use `Store`, the errors
and `splice`; a bucket is one resource type (`pods`, `apps/deployments`), a key is `namespace/name` within it.

Modules, lowest first: `rows` values; `errors`; `bucket` one type in memory with its history; `retention` how
far back that reaches; `checksum`, `mark` and `reserve` what guards the file; `encryption` what is in it;
`sqlitefile` and `database` all of SQL; `damage` what is wrong with a file; `replay` file to memory; `writes`
submitted and not committed; `writer` the thread; `watch` bounded queues; `store` puts them together; `splice`
makes answers from bytes; `snapshot` copies and repairs files that nobody has open.
"""

from flexlet.apiserver.store.errors import (
    Compacted,
    KeyExists,
    Overflow,
    RevisionMismatch,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreFault,
    StoreFull,
)
from flexlet.apiserver.store.rows import Encode, Event, EventType, Page, Row, Statistics
from flexlet.apiserver.store.store import Options, Store
from flexlet.apiserver.store.watch import Watcher

__all__ = [
    "Compacted",
    "Encode",
    "Event",
    "EventType",
    "KeyExists",
    "Options",
    "Overflow",
    "Page",
    "RevisionMismatch",
    "Row",
    "Statistics",
    "Store",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "StoreFault",
    "StoreFull",
    "Watcher",
]
