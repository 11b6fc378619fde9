"""rbac_bootstrap.jsonl: a server that has just started."""

from tests.apiserver.replay.stage import KUBE_SYSTEM, Stage

# The first objects are made in another order.
STAGE = Stage(unordered=frozenset(range(1, 10)), loose=frozenset({1000}), generated=KUBE_SYSTEM)
