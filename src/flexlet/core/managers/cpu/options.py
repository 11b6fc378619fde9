"""Checks of what the operator wrote about the CPU manager, in the kubelet's words."""

from collections.abc import Mapping

from flexlet.core.gates import Gates
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.settings import ManagerSettings


def read_options(policy: str, options: Mapping[str, str], gates: Gates) -> frozenset[str]:
    """The options that are true (``cpuManagerPolicyOptions``); ConfigError for what cannot be used."""
    raise NotImplementedError(policy, options, gates)


def check(settings: ManagerSettings, machine: Machine) -> None:
    """ConfigError if the settings cannot work on this machine: policy, options, reservation."""
    raise NotImplementedError(settings, machine)
