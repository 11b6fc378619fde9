"""Which rule decides, and what a policy that cannot work is told."""

import pytest

from flexlet.apiserver.audit import policy
from flexlet.apiserver.audit.policy import Verdict
from flexlet.apiserver.contract.request import Attributes, User
from flexlet.errors import ConfigError

HEAD = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
ALICE = User(name="alice", groups=("people", "system:authenticated"))


def asked(path: str = "", **given: str) -> Attributes:
    wanted = {"resource": "", **given} if path else {"resource": "pods", "namespace": "default", **given}
    return Attributes(user=ALICE, verb=wanted.pop("verb", "get"), path=path, **wanted)


@pytest.mark.parametrize(
    ("rule", "attributes", "matches"),
    [
        ({}, asked(), True),
        ({"users": ["alice"]}, asked(), True),
        ({"users": ["bob"]}, asked(), False),
        ({"userGroups": ["people"]}, asked(), True),
        ({"userGroups": ["others"]}, asked(), False),
        ({"verbs": ["list"]}, asked(), False),
        ({"namespaces": ["default"]}, asked(), True),
        ({"namespaces": ["other"]}, asked(), False),
        ({"namespaces": [""]}, asked(resource="nodes", namespace=""), True),
        ({"resources": [{"group": ""}]}, asked(resource="nodes"), True),
        ({"resources": [{"group": "apps"}]}, asked(), False),
        ({"resources": [{"group": "apps", "resources": ["deployments"]}]}, asked(), False),
        ({"resources": [{"resources": ["pods"]}]}, asked(), True),
        ({"resources": [{"resources": ["pods"]}]}, asked(subresource="log"), False),
        ({"resources": [{"resources": ["pods/log"]}]}, asked(subresource="log"), True),
        ({"resources": [{"resources": ["pods/*"]}]}, asked(subresource="log"), True),
        ({"resources": [{"resources": ["pods/*"]}]}, asked(), True),
        ({"resources": [{"resources": ["*/log"]}]}, asked(subresource="log"), True),
        ({"resources": [{"resources": ["*/log"]}]}, asked(), False),
        ({"resources": [{"resources": ["*"]}]}, asked(subresource="log"), True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["web"]}]}, asked(name="web"), True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["web"]}]}, asked(name="db"), False),
        ({"resources": [{"resources": ["pods"]}]}, asked("/version"), False),
        ({"nonResourceURLs": ["/version"]}, asked("/version"), True),
        ({"nonResourceURLs": ["/healthz*"]}, asked("/healthz/ping"), True),
        ({"nonResourceURLs": ["/healthz"]}, asked("/healthz/ping"), False),
        ({"nonResourceURLs": ["*"]}, asked("/metrics"), True),
        ({"nonResourceURLs": ["*"]}, asked(), False),
    ],
)
def test_a_rule_matches_as_upstreams(rule: dict[str, object], attributes: Attributes, matches: bool) -> None:
    found = policy.read({**HEAD, "rules": [{"level": "Request", **rule}]}, "f").evaluate(attributes)
    assert found == Verdict("Request" if matches else "None")


def test_the_first_rule_decides_and_stages_add_up() -> None:
    rules = [
        {"level": "Metadata", "verbs": ["get"], "omitStages": ["ResponseStarted"], "omitManagedFields": False},
        {"level": "Request"},
    ]
    found = policy.read(
        {**HEAD, "omitStages": ["RequestReceived"], "omitManagedFields": True, "rules": rules}, "f"
    )
    both = frozenset({"RequestReceived", "ResponseStarted"})
    assert found.evaluate(asked()) == Verdict("Metadata", both, without_managed_fields=False)
    expected = Verdict("Request", frozenset({"RequestReceived"}), without_managed_fields=True)
    assert found.evaluate(asked(verb="list")) == expected


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (None, "f is no audit policy: Expected `object`, got `null`; see audit.k8s.io/v1 Policy"),
        ({"kind": "Policy"}, "Object missing required field `apiVersion`"),
        (
            {**HEAD, "apiVersion": "audit.k8s.io/v1beta1"},
            "Invalid enum value 'audit.k8s.io/v1beta1' - at `$.apiVersion`",
        ),
        (HEAD, "f is no audit policy: it has no rules, so nothing would be logged"),
        ({**HEAD, "rules": [{"level": "All"}]}, "Invalid enum value 'All' - at `$.rules[0].level`"),
        ({**HEAD, "rules": [{"level": "None", "user": []}]}, "unknown field `user` - at `$.rules[0]`"),
        ({**HEAD, "rules": [{}]}, "missing required field `level` - at `$.rules[0]`"),
        ({**HEAD, "omitStages": ["Begun"], "rules": []}, "Invalid enum value 'Begun' - at `$.omitStages[0]`"),
        (
            {**HEAD, "rules": [{"level": "None", "namespaces": ["a"], "nonResourceURLs": ["/a"]}]},
            "rules[0]: a rule cannot be about both resources and nonResourceURLs",
        ),
        (
            {**HEAD, "rules": [{"level": "None", "nonResourceURLs": ["/a*b"]}]},
            "rules[0].nonResourceURLs: '/a*b' must begin with / and may have a * only at its end",
        ),
        (
            {**HEAD, "rules": [{"level": "None", "resources": [{"resourceNames": ["a"]}]}]},
            "rules[0].resources[0].resourceNames: needs at least one resource beside it",
        ),
        (
            {**HEAD, "rules": [{"level": "None", "resources": [{"group": "apps/v1"}]}]},
            "rules[0].resources[0].group: 'apps/v1' must be a group without a version",
        ),
    ],
)
def test_a_policy_that_cannot_work_says_where(document: object, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        policy.read(document, "f")
    assert text in str(caught.value)
