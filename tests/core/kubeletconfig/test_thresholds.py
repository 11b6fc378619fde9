"""Eviction thresholds."""

from typing import Any

import pytest
from tests.core.kubeletconfig.test_checks import broken

from flexlet.api.quantity import Quantity
from flexlet.core.kubeletconfig import thresholds
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.thresholds import Amount, Threshold

KNOWN = ", ".join(sorted(thresholds.SIGNALS))


def test_hard_soft_and_reclaim_are_brought_together() -> None:
    """The hard memory threshold holds for allocatable memory too where pods are enforced."""
    config = KubeletConfiguration(
        eviction_hard={"memory.available": "100Mi", "nodefs.available": "0%", "pid.available": "50%"},
        eviction_soft={"memory.available": "1Gi"},
        eviction_soft_grace_period={"memory.available": "1m30s", "nodefs.available": "1s"},
        eviction_minimum_reclaim={"memory.available": "50Mi"},
    )
    hundred, fifty = Amount(Quantity.parse("100Mi")), Amount(Quantity.parse("50Mi"))
    hard = Threshold(signal="memory.available", below=hundred, minimum_reclaim=fifty)
    assert thresholds.thresholds(config) == (
        hard,
        Threshold(signal="pid.available", below=Amount(fraction=0.5)),
        Threshold(
            signal="memory.available", below=Amount(Quantity.parse("1Gi")), grace_s=90, minimum_reclaim=fifty
        ),
        Threshold(signal="allocatableMemory.available", below=hundred, minimum_reclaim=fifty),
    )


def test_percentages_are_single_precision() -> None:
    """As upstream's: 10 % of ten million is not quite a million."""
    amount = thresholds.read_threshold("10%")
    assert amount is not None
    assert (amount.of(10**10), Amount(Quantity.parse("1Gi")).of(7)) == (1_000_000_014, 2**30)


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        (
            {"evictionHard": {"cpu.available": "1"}},
            [f"evictionHard.cpu.available: there is no such signal; there are {KNOWN}"],
        ),
        (
            {"evictionHard": {"memory.available": "101%"}},
            ["evictionHard.memory.available: '101%': it must be between 0% and 100%"],
        ),
        (
            {"evictionHard": {"memory.available": "x%"}},
            ["evictionHard.memory.available: 'x%': this is no percentage"],
        ),
        (
            {"evictionHard": {"memory.available": "5 %"}},
            ["evictionHard.memory.available: '5 %': this is no percentage"],
        ),
        (
            {"evictionHard": {"memory.available": "0"}},
            ["evictionHard.memory.available: '0': it must be positive; to switch the threshold off, set 0%"],
        ),
        (
            {"evictionSoft": {"memory.available": "1Gi", "pid.available": "0%"}},
            ["evictionSoftGracePeriod.memory.available: a soft threshold needs a grace period; set it"],
        ),
        (
            {"evictionSoftGracePeriod": {"memory.available": "-1s"}},
            ["evictionSoftGracePeriod.memory.available: '-1s': it must not be negative"],
        ),
        (
            {"evictionMinimumReclaim": {"memory.available": "0%", "pid.available": "-1"}},
            [
                "evictionMinimumReclaim.memory.available: '0%': it must be positive",
                "evictionMinimumReclaim.pid.available: '-1': it must not be negative",
            ],
        ),
    ],
)
def test_thresholds_obey_their_rules(fields: dict[str, Any], complaints: list[str]) -> None:
    assert broken(fields) == complaints
