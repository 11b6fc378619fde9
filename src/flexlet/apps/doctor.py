"""Looks at this host and at a cluster, and has it judged; nothing is changed."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from flexlet.adapters import cri
from flexlet.adapters.image import tools
from flexlet.adapters.kube import kubeconfig as config
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.sysfs.reader import SysfsHost
from flexlet.api import decode
from flexlet.api.status import ApiError, Forbidden, NotFound
from flexlet.core import doctor, refs
from flexlet.core.doctor import Finding, Purpose
from flexlet.core.machine import discovery, sources
from flexlet.core.nodesize import hindrances, names
from flexlet.errors import ConfigError, FlexletError
from flexlet.ports.cluster import Ref

KVM: Final = Path("/dev/kvm")
PATIENCE_S: Final = 5.0
T = TypeVar("T")


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""
    major: str = ""
    minor: str = ""


async def examine(kubeconfig: Path | None, purposes: Sequence[Purpose]) -> list[Finding]:
    """Everything there is to look at."""
    return [
        doctor.python(sys.version_info[:3]),
        doctor.root(os.geteuid(), purposes),
        *await _host(purposes),
        await _runtime(purposes),
        _machines(purposes),
        *await _cluster(kubeconfig, purposes),
    ]


async def _host(purposes: Sequence[Purpose]) -> list[Finding]:
    try:
        machine = discovery.machine(await SysfsHost().read(sources.EVERYTHING))
    except FlexletError as error:
        return [Finding("host", "fail", "cannot be read", str(error))]
    return [doctor.cgroups(machine, purposes), doctor.hotplug(machine)]


async def _runtime(purposes: Sequence[Purpose]) -> Finding:
    try:
        runtime = await cri.connect(patience_s=PATIENCE_S)
    except FlexletError as error:
        return doctor.runtime("", str(error), purposes)
    try:
        version = await runtime.version()
        return doctor.runtime(f"{version.name} {version.version}", "", purposes)
    except FlexletError as error:
        return doctor.runtime("", str(error), purposes)
    finally:
        await runtime.close()


def _machines(purposes: Sequence[Purpose]) -> Finding:
    missing = tools.missing()
    return doctor.qemu(
        missing, tools.remedy(missing) if missing else (), os.access(KVM, os.R_OK | os.W_OK), purposes
    )


async def _cluster(path: Path | None, purposes: Sequence[Purpose]) -> list[Finding]:
    try:
        credentials = config.load(path)
    except ConfigError as error:
        return [doctor.no_kubeconfig(str(error), purposes)]
    server = credentials.server
    try:
        async with HttpCluster(credentials) as cluster:
            found = msgspec.json.decode(await cluster.read("/version"), type=_Version)
            knows_sizes = await _knows_sizes(cluster)
            return [
                doctor.cluster(server, found.git_version, (_number(found.major), _number(found.minor))),
                doctor.node_sizes(knows_sizes),
                *(await _balloons(cluster) if knows_sizes else ()),
            ]
    except (ApiError, msgspec.DecodeError) as error:
        return [doctor.unreachable(server, str(error))]


async def _knows_sizes(cluster: HttpCluster) -> bool:
    try:
        await cluster.list(Ref(*names.NODE_SIZES))
    except NotFound:
        return False
    return True


async def _balloons(cluster: HttpCluster) -> list[Finding]:
    """What would be in their way; those who may not look are not told."""
    try:
        ranges = await _read(cluster, "limitranges", hindrances.LimitRange)
        quotas = await _read(cluster, "resourcequotas", hindrances.ResourceQuota)
        daemons = (await cluster.list(Ref(*refs.DAEMON_SETS))).items
    except Forbidden:
        return []
    shut_out = hindrances.shut_out(decode.from_json(raw, hindrances.DaemonSet) for raw in daemons)
    return [doctor.balloons(hindrances.limiting(ranges, quotas)), doctor.starting(shut_out)]


async def _read(cluster: HttpCluster, plural: str, kind: type[T]) -> list[T]:
    found = await cluster.list(Ref("", "v1", plural), names.NAMESPACE)
    return [decode.from_json(raw, kind) for raw in found.items]


def _number(text: str) -> int:
    """``36+`` of some providers is 36."""
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else 0
