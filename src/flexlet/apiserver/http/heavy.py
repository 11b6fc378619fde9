"""Which requests are heavy: they keep the event loop or the memory busy for longer than others should wait.

Those take turns (`turns`). A node's lease is none of them.
"""

from typing import Final

from flexlet.apiserver.contract.kind import Kind, object_key
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.store.store import Store

HEAVY_BYTES: Final = 128 * 1024
HEAVY_ROWS: Final = 500


def is_heavy(exchange: Exchange, kind: Kind, store: Store) -> bool:
    """Whether the request has to wait for its turn."""
    if _has_large_body(exchange):
        return True
    if exchange.path.name:
        return exchange.verb in {"update", "patch"} and _is_large(exchange, kind, store)
    return exchange.verb in {"list", "deletecollection"} and _is_long(exchange, kind, store)


def _has_large_body(exchange: Exchange) -> bool:
    request = exchange.request
    if not request.body_exists or "Upgrade" in request.headers:
        return False
    declared = request.content_length
    return declared is None or declared > HEAVY_BYTES


def _is_large(exchange: Exchange, kind: Kind, store: Store) -> bool:
    """A patch of a few bytes to a large object has to read and validate all of it."""
    namespace = exchange.path.namespace if kind.namespaced else ""
    row = store.get(kind.storage_bucket, object_key(namespace, exchange.path.name))
    return row is not None and len(row.value) > HEAVY_BYTES


def _is_long(exchange: Exchange, kind: Kind, store: Store) -> bool:
    limit = exchange.query.get("limit", "")
    short = limit.isdecimal() and 0 < int(limit[:9]) <= HEAVY_ROWS and "fieldSelector" not in exchange.query
    return not short and store.count(kind.storage_bucket) > HEAVY_ROWS
