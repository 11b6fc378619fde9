"""Where the resources live that controllers read and write: (group, version, plural)."""

from typing import Final

from flexlet.core.actions import Ref

PODS: Final[Ref] = ("", "v1", "pods")
NODES: Final[Ref] = ("", "v1", "nodes")
NAMESPACES: Final[Ref] = ("", "v1", "namespaces")
LEASES: Final[Ref] = ("coordination.k8s.io", "v1", "leases")
REPLICA_SETS: Final[Ref] = ("apps", "v1", "replicasets")
DEPLOYMENTS: Final[Ref] = ("apps", "v1", "deployments")
DAEMON_SETS: Final[Ref] = ("apps", "v1", "daemonsets")
JOBS: Final[Ref] = ("batch", "v1", "jobs")
BUDGETS: Final[Ref] = ("policy", "v1", "poddisruptionbudgets")
CUSTOM_RESOURCE_DEFINITIONS: Final[Ref] = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
