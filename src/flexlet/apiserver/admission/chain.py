"""The plugins in upstream's order."""

import random
from collections.abc import Mapping

from flexlet.apiserver.admission.authorizer import Authorizer
from flexlet.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from flexlet.apiserver.admission.default_tolerations import DefaultTolerationSeconds
from flexlet.apiserver.admission.limit_ranger import LimitRanger
from flexlet.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from flexlet.apiserver.admission.node_declared_features import NodeDeclaredFeatureValidator
from flexlet.apiserver.admission.noderestriction.plugin import NodeRestriction
from flexlet.apiserver.admission.pod_resize import PodResizeValidator
from flexlet.apiserver.admission.pod_security import PodSecurity
from flexlet.apiserver.admission.pod_topology_labels import PodTopologyLabels
from flexlet.apiserver.admission.priority import Priority
from flexlet.apiserver.admission.quota_ledger import QuotaWriter
from flexlet.apiserver.admission.resource_quota import ResourceQuota
from flexlet.apiserver.admission.runtime_class import RuntimeClass
from flexlet.apiserver.admission.service_account import ServiceAccount
from flexlet.apiserver.admission.taint_nodes import TaintNodesByCondition
from flexlet.apiserver.contract.admission import Plugin
from flexlet.ports.clock import Clock


def default_plugins(
    gates: Mapping[str, bool],
    *,
    authorizer: Authorizer,
    quota_writer: QuotaWriter,
    clock: Clock,
    source: random.Random,
) -> tuple[Plugin, ...]:
    """Every plugin of the server; `source` makes the names of token volumes."""
    return (
        NamespaceLifecycle(),
        LimitRanger(gates),
        ServiceAccount(source),
        NodeRestriction(authorizer),
        TaintNodesByCondition(),
        PodSecurity(),
        Priority(),
        DefaultTolerationSeconds(),
        RuntimeClass(),
        CertificateApproval(authorizer),
        CertificateSigning(authorizer),
        CertificateSubjectRestriction(),
        PodTopologyLabels(gates),
        NodeDeclaredFeatureValidator(gates),
        PodResizeValidator(gates),
        ResourceQuota(gates, quota_writer, clock),
    )
