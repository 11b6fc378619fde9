"""The table of built-in kinds, in the order of discovery: by group, then by plural."""

import time
from collections.abc import Mapping

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.kinds.certificate.kind import Clock, certificate_kind
from flexlet.apiserver.kinds.configmap import CONFIG_MAP
from flexlet.apiserver.kinds.crd.kind import CUSTOM_RESOURCE_DEFINITION
from flexlet.apiserver.kinds.daemonset import daemon_set_kind
from flexlet.apiserver.kinds.deployment import deployment_kind
from flexlet.apiserver.kinds.event import EVENT, MODERN_EVENT
from flexlet.apiserver.kinds.job.kind import job_kind
from flexlet.apiserver.kinds.lease import LEASE
from flexlet.apiserver.kinds.limitrange import LIMIT_RANGE
from flexlet.apiserver.kinds.namespace import NAMESPACE
from flexlet.apiserver.kinds.node import NODE
from flexlet.apiserver.kinds.pod.kind import pod_kind
from flexlet.apiserver.kinds.poddisruptionbudget import POD_DISRUPTION_BUDGET
from flexlet.apiserver.kinds.priorityclass import PRIORITY_CLASS
from flexlet.apiserver.kinds.replicaset import replica_set_kind
from flexlet.apiserver.kinds.resourcequota import RESOURCE_QUOTA
from flexlet.apiserver.kinds.reviews import BINDING, REVIEWS
from flexlet.apiserver.kinds.role import CLUSTER_ROLE, ROLE
from flexlet.apiserver.kinds.rolebinding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from flexlet.apiserver.kinds.secret import SECRET
from flexlet.apiserver.kinds.serviceaccount import SERVICE_ACCOUNT


def builtin_kinds(gates: Mapping[str, bool], clock: Clock = time.time) -> tuple[Kind, ...]:
    """Every kind the server serves without a definition, under a set of feature gates."""
    kinds = (
        *(BINDING, CONFIG_MAP, EVENT, LIMIT_RANGE, NAMESPACE, NODE, pod_kind(gates)),
        *(RESOURCE_QUOTA, SECRET, SERVICE_ACCOUNT),
        *(daemon_set_kind(gates), deployment_kind(gates), replica_set_kind(gates), job_kind(gates)),
        *(certificate_kind(clock), CUSTOM_RESOURCE_DEFINITION, LEASE, MODERN_EVENT, POD_DISRUPTION_BUDGET),
        *(CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING, PRIORITY_CLASS),
        *REVIEWS,
    )
    return tuple(sorted(kinds, key=lambda kind: (kind.group, kind.plural)))
