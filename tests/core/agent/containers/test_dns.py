"""A pod's resolv.conf, and what is told when it had to be cut."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod
from tests.core.agent.containers.oracle import recorded

from flexlet.api import decode
from flexlet.api.nodepod.pod import DnsConfig
from flexlet.core.agent.containers import dns
from flexlet.core.runtime.configs import Dns

RECORDED = recorded("dns")
BROKEN = "nameserver list is empty"


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: f"{case['policy']}-{case['resolv']}")
def test_the_file_and_the_events_are_upstreams(case: dict[str, Any]) -> None:
    more = DnsConfig() if case["config"] is None else decode.from_value(case["config"], DnsConfig)
    of = pod(container("c"), dns_policy=case["policy"], host_network=case["hostNetwork"], dns_config=more)
    setup = replace(
        SETUP,
        cluster_dns=tuple(case["cluster"] or ()),
        cluster_domain=case["domain"],
        resolv_conf=RECORDED["resolv"][case["resolv"]],
    )
    found = dns.config(of, setup)
    if isinstance(case["out"], str):
        # Upstream refuses a host file with an empty line; a pod still needs to start.
        assert BROKEN in case["out"]
        return
    expected = {key: tuple(value or ()) for key, value in case["out"].items()}
    assert replace(found, options=tuple(sorted(found.options))) == Dns(**expected)
    told = [f"Warning {each.reason} {each.message}" for each in dns.notices(of, setup)]
    about_pod = [each.replace("p_ns(u)", "p_ns(uid-1)") for each in case["events"] if "cannot" not in each]
    missing = [each for each in told if each.startswith(f"Warning {dns.MISSING_CLUSTER_DNS}")]
    assert [each for each in told if each not in missing] == about_pod
    assert missing == [
        each.replace("p_ns(u)", "p_ns(uid-1)") for each in case["events"] if "cannot" in each and "pod: " in each
    ]
