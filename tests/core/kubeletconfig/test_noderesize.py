"""How an administrator says how a node follows its machine."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.duration import Duration
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.kubeletconfig import noderesizereading
from flexlet.core.kubeletconfig.noderesize import META, NodeResizeConfiguration, settings, to_value
from flexlet.errors import ConfigError

NO_PART = "is no part of a machine; write cpuN or memoryN, as under /sys/devices/system"
GATES = {"plug", "unplug", "rewrites_oom_scores"}
EVERYTHING = {
    "quietPeriod": "1s",
    "shrinkQuietPeriod": "200ms",
    "maxDelay": "6s",
    "settlePeriod": "5s",
    "pollInterval": "30s",
    "confirmReads": 5,
    "confirmPeriod": "8s",
    "memoryJitterBytes": "128Mi",
    "onlinePolicy": "memory",
    "onlineGrace": "4s",
    "memoryOnlineAs": "online_movable",
    "keepOffline": ["cpu3", "memory40"],
    "order": "creation",
    "cpu": "Tolerate",
    "unplug": {"evict": "never", "quietPeriod": "2m"},
    "maxGraceSeconds": 90,
    "squeezeTimeout": "2m",
    "prepareTimeout": "20m",
    "offlineTimeout": "2m",
    "evictionRetryPeriod": "10s",
}
FOLLOWS = ResizeSettings(
    quiet_s=1,
    shrink_quiet_s=0.2,
    max_delay_s=6,
    settle_s=5,
    poll_s=30,
    confirm_reads=5,
    confirm_s=8,
    jitter=Bytes(128 << 20),
    online_policy="memory",
    online_grace_s=4,
    memory_online_as="online_movable",
    keep_offline=("cpu3", "memory40"),
    order="creation",
    cpu="Tolerate",
    evict="never",
    evict_quiet_s=120,
    max_grace_s=90,
    squeeze_s=120,
    prepare_s=1200,
    offline_s=120,
    evict_again_s=10,
)


def read(**fields: Any) -> NodeResizeConfiguration:
    return noderesizereading.read(META | fields, "resize.yaml")


def test_an_empty_file_means_the_defaults() -> None:
    assert read() == NodeResizeConfiguration()
    assert settings(read(order=None)) == ResizeSettings()


def test_every_setting_can_be_said() -> None:
    """And none is forgotten: each field is another than its default here."""
    found = settings(read(**EVERYTHING))
    assert found == FOLLOWS
    names = {field.name for field in msgspec.structs.fields(ResizeSettings)} - GATES
    assert {name for name in names if getattr(found, name) == getattr(ResizeSettings(), name)} == set()
    assert {field.encode_name for field in msgspec.structs.fields(NodeResizeConfiguration)} == set(EVERYTHING)


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        ({"quietperiod": "1s"}, ["quietperiod: there is no such field; did you mean quietPeriod?"]),
        ({"shape": 1}, ["shape: there is no such field; remove it"]),
        (
            {"order": "size", "cpu": 1},
            [
                "cpu: Expected `str`, got `int`; choose Strict, Tolerate",
                "order: Invalid enum value 'size'; choose priority, creation",
            ],
        ),
        (
            {"quietPeriod": "fast", "maxDelay": 3},
            [
                "maxDelay: Expected a duration such as `10s` or `1h30m`, got `int`",
                'quietPeriod: time: invalid duration "fast"; write one such as `10s` or `1h30m`',
            ],
        ),
        (
            {"pollInterval": "0s", "onlineGrace": "-1s", "memoryJitterBytes": "-1"},
            [
                "memoryJitterBytes: this is -1; set 0 or more",
                "onlineGrace: this is -1s; set 0 or more",
                "pollInterval: this is 0s; set more than 0",
            ],
        ),
        ({"quietPeriod": "4s"}, ["maxDelay: 3s is less than quietPeriod 4s; set at least that"]),
        (
            {"keepOffline": ["cpu1", "dimm0"]},
            [f"keepOffline[1]: 'dimm0' {NO_PART}"],
        ),
        (
            {"unplug": {"evict": "later"}},
            ["unplug.evict: Invalid enum value 'later'; choose never, persistent, immediate"],
        ),
        (
            {"unplug": {"evct": "never"}},
            ["unplug: Object contains unknown field `evct`; it has evict, quietPeriod"],
        ),
        ({"unplug": {"quietPeriod": "-1s"}}, ["unplug.quietPeriod: this is -1s; set 0 or more"]),
        ({"keepOffline": ["cpu1", 2]}, ["keepOffline[1]: Expected `str`, got `int`"]),
        ({"confirmReads": 0}, ["confirmReads: this is 0; set more than 0"]),
        (
            {"kind": "KubeletConfiguration"},
            ["kind: this is 'KubeletConfiguration'; set NodeResizeConfiguration"],
        ),
    ],
)
def test_what_cannot_work_is_named_with_what_to_do(fields: dict[str, Any], complaints: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        read(**fields)
    assert str(error.value).splitlines() == [f"resize.yaml: {each}" for each in complaints]


def test_a_file_that_is_something_else_is_named() -> None:
    with pytest.raises(ConfigError) as error:
        noderesizereading.read(["a"], "f")
    assert (
        str(error.value) == "f: this is no NodeResizeConfiguration; start it with `kind: NodeResizeConfiguration`"
    )


@given(
    quiet=st.integers(0, 3_000),
    poll=st.integers(1, 3_600_000),
    jitter=st.integers(0, 1 << 40),
    grace=st.integers(0, 3600),
    order=st.sampled_from(["priority", "creation"]),
)
def test_what_is_written_is_read_again(quiet: int, poll: int, jitter: int, grace: int, order: Any) -> None:
    config = NodeResizeConfiguration(
        quiet_period=Duration(quiet / 1000),
        poll_interval=Duration(poll / 1000),
        memory_jitter_bytes=Quantity.of_bytes(jitter),
        max_grace_seconds=grace,
        order=order,
    )
    assert noderesizereading.read(to_value(config), "f") == config
