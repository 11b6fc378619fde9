"""From documents to configurations: defaults, zeroes, everything wrong at once."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.duration import Duration
from flexlet.api.node import Taint
from flexlet.core.kubeletconfig import reading, support
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.errors import ConfigError

META = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}

DATA = Path(__file__).parents[2] / "data" / "kubeletconfig"
# Every field of k8s.io/kubelet/config/v1beta1 of 1.36.3.
UPSTREAM = (DATA / "fields.txt").read_text().split()


def read(**fields: Any) -> KubeletConfiguration:
    return reading.read({**META, **fields}, "kubelet.yaml")


def complaints(**fields: Any) -> list[str]:
    with pytest.raises(ConfigError) as error:
        read(**fields)
    return [line.removeprefix("kubelet.yaml: ") for line in str(error.value).splitlines()]


def test_every_field_of_upstream_is_here_refused_or_idle() -> None:
    """Nothing that the kubelet reads is unknown, and nothing else is known."""
    ours = {field.encode_name for field in msgspec.structs.fields(KubeletConfiguration)}
    listed = {name for name in (*support.REFUSED, *support.IDLE) if "." not in name}
    assert sorted(ours | listed) == sorted(UPSTREAM)
    assert ours & listed == set()


def test_an_empty_file_gives_the_defaults() -> None:
    assert read() == KubeletConfiguration()


def test_null_and_zero_are_absent_but_for_pointers() -> None:
    """A zero stands for the default where upstream cannot tell it from absence."""
    config = read(port=0, maxPods=0, address="", syncFrequency="0s", nodeLeaseDurationSeconds=0, healthzPort=None)
    assert config == KubeletConfiguration()
    kept = read(healthzPort=0, registryPullQPS=0, resolvConf="", eventRecordQPS=0, enforceNodeAllocatable=[])
    assert kept == KubeletConfiguration(
        healthz_port=0, registry_pull_qps=0, resolv_conf="", event_record_qps=0, enforce_node_allocatable=()
    )
    assert read(evictionHard={}).eviction_hard == {}


def test_parts_are_merged_with_their_defaults() -> None:
    config = read(
        authentication={"x509": {"clientCAFile": "/ca"}, "anonymous": {"enabled": True}},
        authorization={"mode": "AlwaysAllow", "webhook": {"cacheAuthorizedTTL": "1m"}},
        registerWithTaints=[{"key": "a/b", "value": "c", "effect": "NoSchedule"}],
        memorySwap={"swapBehavior": "LimitedSwap"},
    )
    assert (config.authentication.x509.client_ca_file, config.authentication.anonymous.enabled) == ("/ca", True)
    assert config.authentication.webhook == KubeletConfiguration().authentication.webhook
    webhook = config.authorization.webhook
    assert (webhook.cache_authorized_ttl, webhook.cache_unauthorized_ttl) == (Duration(60), Duration(30))
    assert config.register_with_taints == (Taint(key="a/b", value="c", effect="NoSchedule"),)
    assert config.memory_swap.swap_behavior == "LimitedSwap"


def test_some_defaults_depend_on_other_fields() -> None:
    """As in upstream's defaults.go: report as often as update; parallel pulls are not serial."""
    assert read(nodeStatusUpdateFrequency="20s").node_status_report_frequency == Duration(20)
    both = read(nodeStatusUpdateFrequency="20s", nodeStatusReportFrequency="1m")
    assert both.node_status_report_frequency == Duration(60)
    assert read(maxParallelImagePulls=2).serialize_image_pulls is False
    assert read(maxParallelImagePulls=1).serialize_image_pulls is True
    assert read(podPidsLimit=-7).pod_pids_limit == -1
    merged = read(mergeDefaultEvictionSettings=True, evictionHard={"memory.available": "1Gi"})
    assert merged.eviction_hard == KubeletConfiguration().eviction_hard | {"memory.available": "1Gi"}
    assert read(evictionHard={"memory.available": "1Gi"}).eviction_hard == {"memory.available": "1Gi"}


def test_everything_wrong_is_said_at_once_in_order() -> None:
    assert complaints(
        kind="KubeletConfig",
        staticPodURL="https://pods",
        maxPod=5,
        maxPods="five",
        authentication={"webhook": {"cacheTTL": 5, "cacheTtl": "5s"}, "x509": 7},
        readOnlyPort=10255,
        nodeStatusUpdateFrequency="10",
        port=70000,
        registerWithTaints=[{"key": "a"}, {"value": "b"}],
    ) == [
        "authentication.webhook.cacheTTL: Expected a duration such as `10s` or `1h30m`, got `int`",
        "authentication.webhook.cacheTtl: there is no such field; did you mean cacheTTL?",
        "authentication.x509: Expected `object`, got `int`",
        "kind: this is 'KubeletConfig'; set KubeletConfiguration",
        "maxPod: there is no such field; did you mean maxPods?",
        "maxPods: Expected `int`, got `str`",
        'nodeStatusUpdateFrequency: time: missing unit in duration "10"; write one such as `10s` or `1h30m`',
        "port: 70000 is out of range; it must be between 1 and 65535",
        "readOnlyPort: 10255 is not supported: there is no port without authentication; use port, and remove it",
        "registerWithTaints[1]: Object missing required field `key`",
        f'staticPodURL: "https://pods" is not supported: {support.REFUSED["staticPodURL"].remedy}',
    ]


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_what_is_no_configuration_says_how_one_begins(value: Any) -> None:
    with pytest.raises(ConfigError) as error:
        reading.read(value, "kubelet.yaml")
    expected = "kubelet.yaml: this is no KubeletConfiguration; start it with `kind: KubeletConfiguration`"
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("field", "harmless", "harmful"),
    [
        ("syncFrequency", ["0s", "1m", "60s", None], ["30s"]),
        ("contentType", ["", "application/json", "application/vnd.kubernetes.protobuf"], ["text/plain"]),
        ("enableControllerAttachDetach", [True, None], [False]),
        ("failCgroupV1", [True], [False]),
        ("qosReserved", [{}, None], [{"memory": "50%"}]),
        ("userNamespaces", [{}, {"idsPerPod": 65536}], [{"idsPerPod": 131072}]),
        ("maxOpenFiles", [0, 1000000], [5, True, "1000000"]),
        ("imagePullCredentialsVerificationPolicy", ["", "NeverVerify"], ["AlwaysVerify"]),
        ("logging", [{"options": {"json": {"infoBufferSize": "0"}}, "flushFrequency": 5}], [{"vmodule": "a=1"}]),
    ],
)
def test_fields_that_do_not_exist_may_ask_for_nothing(field: str, harmless: list[Any], harmful: list[Any]) -> None:
    """Files that others wrote are full of zeroes; only a wish that would not come true is refused."""
    assert [read(**{field: value}) for value in harmless] == [KubeletConfiguration()] * len(harmless)
    assert all(" is not supported: " in line for value in harmful for line in complaints(**{field: value}))


def test_idle_fields_are_taken() -> None:
    """The kubelet reads them and does nothing with them, and so do we."""
    fields = {name: "anything" for name in support.IDLE if "." not in name}
    assert read(**fields) == KubeletConfiguration()


def test_the_command_line_wins_name_by_name() -> None:
    config = read(
        maxPods=50,
        nodeStatusUpdateFrequency="20s",
        evictionHard={"nodefs.available": "5%"},
        featureGates={"MemoryQoS": True, "PodLevelResources": True},
        authentication={"x509": {"clientCAFile": "/ca"}},
    )
    merged = reading.merge(
        config,
        {
            "port": 1,
            "maxPods": None,
            "evictionHard": {"memory.available": "1%"},
            "featureGates": {"MemoryQoS": False},
            "authentication": {"anonymous": {"enabled": True}},
        },
    )
    assert merged == msgspec.structs.replace(
        config,
        port=1,
        eviction_hard={"memory.available": "1%"},
        feature_gates={"MemoryQoS": False, "PodLevelResources": True},
        authentication=msgspec.structs.replace(
            config.authentication,
            anonymous=msgspec.structs.replace(config.authentication.anonymous, enabled=True),
        ),
    )


def test_a_flag_that_cannot_work_is_named() -> None:
    with pytest.raises(ConfigError) as error:
        reading.merge(KubeletConfiguration(), {"port": -1, "nope": True})
    assert str(error.value).splitlines() == [
        "command line: nope: there is no such field; remove it",
        "command line: port: -1 is out of range; it must be between 1 and 65535",
    ]


CONFIGS = st.builds(
    KubeletConfiguration,
    port=st.integers(1, 65535),
    healthz_port=st.integers(0, 65535),
    max_pods=st.integers(1, 1000),
    node_status_update_frequency=st.integers(1, 10**6).map(lambda milli: Duration(milli / 1000)),
    cluster_dns=st.lists(st.ip_addresses(v=4).map(str)).map(tuple),
    system_reserved=st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "100m", "1Gi"])),
    register_node=st.booleans(),
    rotate_certificates=st.booleans(),
    register_with_taints=st.just((Taint(key="a", effect="NoExecute"),)),
)


@given(CONFIGS)
def test_what_is_written_is_read_back(config: KubeletConfiguration) -> None:
    """A configuration is the document it prints."""
    assert reading.read(META | reading.to_value(config), "f") == config
    assert reading.merge(config, {}) == config
