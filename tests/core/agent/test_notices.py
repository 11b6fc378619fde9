"""Warnings that come with a deed: names that cannot be resolved, secrets that are not there."""

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID, Answer, container, decided, living, pod, record

from flexlet.api.nodepod.pod import DnsConfig
from flexlet.core.agent.deeds import RunSandbox
from flexlet.core.agent.fold import folded
from flexlet.core.agent.observations import PullBegan

CUT = "limits were exceeded, some {0} have been omitted, the applied {1} is: "
ALONE = (
    'pod: "p_ns(uid-1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using '
    '"ClusterFirst" policy. Falling back to "Default" policy.'
)
MANY = DnsConfig(nameservers=("1.1.1.1", "2.2.2.2", "3.3.3.3"))


@pytest.mark.parametrize(
    ("more", "servers", "expected"),
    [
        (DnsConfig(), ("10.96.0.10",), ()),
        (DnsConfig(), (), (("Warning", "MissingClusterDNS", ALONE),)),
        (
            MANY,
            ("10.96.0.10",),
            (
                (
                    "Warning",
                    "DNSConfigForming",
                    "Nameserver " + CUT.format("nameservers", "nameserver line") + "10.96.0.10 1.1.1.1 2.2.2.2",
                ),
            ),
        ),
    ],
)
def test_whoever_makes_a_sandbox_tells_what_its_names_lack(
    more: DnsConfig, servers: tuple[str, ...], expected: tuple[tuple[str, str, str], ...]
) -> None:
    bare = living(pod(container("a"), dns_config=more), sandboxes=())
    setup = replace(SETUP, cluster_dns=servers)
    assert decided(bare, setup=setup) == Answer(
        (RunSandbox(uid=UID, attempt=0),), tuple((*each, "") for each in expected)
    )


def test_a_pull_without_some_secrets_is_told_before_the_pull() -> None:
    known = record(pod(container("a")))
    began = PullBegan(uid=UID, container="a", image="x", absent_secrets=("s",))
    told = folded(known, began, SETUP, NOW).events
    assert [(each.type, each.reason, each.message) for each in told] == [
        (
            "Warning",
            "FailedToRetrieveImagePullSecret",
            "Unable to retrieve some image pull secrets (s); attempting to pull the image may not succeed.",
        ),
        ("Normal", "Pulling", 'Pulling image "x"'),
    ]
