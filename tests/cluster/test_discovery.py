"""What the server says about itself, and how kubectl puts what is not served."""

import pytest
from tests.cluster import sessions
from tests.cluster.kubectl import Kubectl
from tests.cluster.tables import rows

pytestmark = pytest.mark.cluster

RESOURCES = """
bindings                                  v1                             true         Binding
configmaps                   cm           v1                             true         ConfigMap
events                       ev           v1                             true         Event
limitranges                  limits       v1                             true         LimitRange
namespaces                   ns           v1                             false        Namespace
nodes                        no           v1                             false        Node
pods                         po           v1                             true         Pod
resourcequotas               quota        v1                             true         ResourceQuota
secrets                                   v1                             true         Secret
serviceaccounts              sa           v1                             true         ServiceAccount
customresourcedefinitions    crd,crds     apiextensions.k8s.io/v1        false        CustomResourceDefinition
daemonsets                   ds           apps/v1                        true         DaemonSet
deployments                  deploy       apps/v1                        true         Deployment
replicasets                  rs           apps/v1                        true         ReplicaSet
selfsubjectreviews                        authentication.k8s.io/v1       false        SelfSubjectReview
tokenreviews                              authentication.k8s.io/v1       false        TokenReview
localsubjectaccessreviews                 authorization.k8s.io/v1        true         LocalSubjectAccessReview
selfsubjectaccessreviews                  authorization.k8s.io/v1        false        SelfSubjectAccessReview
selfsubjectrulesreviews                   authorization.k8s.io/v1        false        SelfSubjectRulesReview
subjectaccessreviews                      authorization.k8s.io/v1        false        SubjectAccessReview
jobs                                      batch/v1                       true         Job
certificatesigningrequests   csr          certificates.k8s.io/v1         false        CertificateSigningRequest
leases                                    coordination.k8s.io/v1         true         Lease
events                       ev           events.k8s.io/v1               true         Event
poddisruptionbudgets         pdb          policy/v1                      true         PodDisruptionBudget
clusterrolebindings                       rbac.authorization.k8s.io/v1   false        ClusterRoleBinding
clusterroles                              rbac.authorization.k8s.io/v1   false        ClusterRole
rolebindings                              rbac.authorization.k8s.io/v1   true         RoleBinding
roles                                     rbac.authorization.k8s.io/v1   true         Role
priorityclasses              pc           scheduling.k8s.io/v1           false        PriorityClass
"""
OURS = "flexlet.io/"
"""Kinds that `flexlet up` installs and upstream does not have."""
GROUP_VERSIONS = [
    "apiextensions.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "events.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "v1",
]


def test_api_resources(kubectl: Kubectl) -> None:
    """The kinds with the short names, groups, scopes and categories that upstream gives them."""
    found = [row for row in rows(kubectl.lines("api-resources --no-headers")) if OURS not in row[-3]]
    assert found == rows(RESOURCES.strip().splitlines())
    names = kubectl.lines("api-resources --categories=all -o name")
    assert sorted(each for each in names if "flexlet.io" not in each) == [
        "daemonsets.apps",
        "deployments.apps",
        "jobs.batch",
        "pods",
        "replicasets.apps",
    ]
    wide = {row[0]: row[-1] for row in rows(kubectl.lines("api-resources -o wide --no-headers"))}
    assert "all" in wide["pods"].split(",")


def test_api_versions_and_version(kubectl: Kubectl) -> None:
    """Every group version once; the server calls itself by the release it follows."""
    assert [each for each in kubectl.lines("api-versions") if OURS not in each] == GROUP_VERSIONS
    assert "Server Version: v1.36.3" in kubectl.lines("version")


def test_explain_knows_fields_and_types(kubectl: Kubectl) -> None:
    """Field names, types and which are required; an unknown field is an error."""
    assert kubectl.lines("explain pods.spec.containers.resources")[:6] == [
        "KIND:       Pod",
        "VERSION:    v1",
        "",
        "FIELD: resources <ResourceRequirements>",
        "",
        "",
    ]
    fields = [line.strip() for line in kubectl.lines("explain pods.spec --recursive")]
    assert {"containers\t<[]Container> -required-", "nodeName\t<string>"} <= set(fields)
    assert kubectl.refused("explain pods.spec.nope") == 'error: field "nope" does not exist'
    assert kubectl.refused("explain nope") == 'the server doesn\'t have a resource type "nope"'


def test_server_side_apply_is_refused_with_what_works(kubectl: Kubectl) -> None:
    """The message names the patch types one can use instead."""
    manifest = sessions.MANIFESTS / "configmap.yaml"
    assert kubectl.refused(f"apply --server-side -f {manifest}") == (
        "error: Server-side apply not available on the server: (the body of the request was in an unknown format"
        " - accepted media types include: application/json-patch+json, application/merge-patch+json,"
        " application/strategic-merge-patch+json)"
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("get services", 'error: the server doesn\'t have a resource type "services"'),
        ("get statefulsets", 'error: the server doesn\'t have a resource type "statefulsets"'),
        ("cluster-info", 'error: the server doesn\'t have a resource type "services"'),
        (
            "create service clusterip s --tcp=80",
            "error: failed to create ClusterIP service: the server could not find the requested resource",
        ),
        (
            "create cronjob c --image=x --schedule='* * * * *'",
            "error: failed to create cronjob: the server could not find the requested resource",
        ),
        ("top nodes", "error: Metrics API not available"),
        ("top pods", "error: Metrics API not available"),
    ],
)
def test_what_is_not_served_is_said_plainly(kubectl: Kubectl, command: str, message: str) -> None:
    """Services, stateful sets, cron jobs and metrics are not there, and kubectl can tell."""
    assert kubectl.refused(command).splitlines()[-1] == message
