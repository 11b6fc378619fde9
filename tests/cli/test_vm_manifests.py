"""The kinds of virtual machines and who may what with them, as the embedded server sees it."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.cli.policies import Json
from tests.cli.test_manifests import APPLIED_AS, CONTROLLERS, may, missing

from flexlet.adapters.clock import SystemClock
from flexlet.api import status
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.cli.manifests import manifests, objects
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVMSpec, FlexVMStatus, MigrationSpec, MigrationStatus
from flexlet.ports.cluster import Cluster, Ref

FLEX_VMS = Ref(*names.FLEX_VMS)
MIGRATIONS = Ref(*names.MIGRATIONS)
POLICY = {
    "fallback": "Wait",
    "deferTimeout": "5m",
    "unplugTimeout": "2m",
    "partialShrink": "Accept",
    "order": "CpuFirst",
}
MEMORY: Json = {"guest": "8Gi"}
DISK: Json = {"name": "root", "containerDisk": {"image": "disk:1"}}
PATTERN = r"^(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$"
PATH = "spec.template.spec"


def vm(cpu: Json | None = None, memory: Json | None = None, spec: Json | None = None, **machine: Any) -> Json:
    domain = {"cpu": {"sockets": 4} if cpu is None else cpu, "memory": memory or MEMORY}
    return {"template": {"spec": {"domain": domain, **machine}}, **(spec or {})}


def completed(spec: Json) -> Json:
    """What the server fills in."""
    found: Json = msgspec.json.decode(msgspec.json.encode(spec))
    found["template"]["spec"]["domain"]["cpu"].setdefault("limitPolicy", "None")
    return {"overheadModel": "kubevirt", "resizePolicy": POLICY, **found}


TAKEN: list[Json] = [
    vm(),
    vm({"vcpus": 4, "maxSockets": 16, "limitPolicy": "Match"}),
    vm(memory={"guest": "8Gi", "minGuest": "4Gi", "maxGuest": "16Gi"}),
    vm(memory={"guest": 8589934592, "hugepages": {"pageSize": "2Mi"}}),
    vm(volumes=[DISK], networks=[{"name": "default", "pod": {}}]),
    vm(spec={"runStrategy": "Manual", "overheadModel": "measured"}),
]
REFUSED: list[tuple[Json, str]] = [
    (
        vm({"vcpus": 4, "cores": 2}),
        (
            f"{PATH}.domain.cpu.vcpus: Invalid value: vcpus is that many sockets of one core: give either vcpus,"
            " or sockets, cores and threads"
        ),
    ),
    (
        vm({"sockets": 4, "isolateEmulatorThread": True}),
        (
            f"{PATH}.domain.cpu.isolateEmulatorThread: Invalid value: IsolateEmulatorThread should be only set in"
            " combination with DedicatedCPUPlacement"
        ),
    ),
    (
        vm(memory={"guest": "8193Mi"}),
        f"{PATH}.domain.memory.guest: Invalid value: Guest memory must be 2Mi aligned: give a multiple of 2Mi",
    ),
    (
        vm(memory={"guest": "8Gi", "maxGuest": "16G"}),
        f"{PATH}.domain.memory.maxGuest: Invalid value: MaxGuest must be 2Mi aligned: give a multiple of 2Mi",
    ),
    (
        vm(memory={"guest": "8Gi", "minGuest": "16Gi", "maxGuest": "8Gi"}),
        (
            f"{PATH}.domain.memory.minGuest: Invalid value: minGuest must not be more than maxGuest: lower it or"
            " raise maxGuest"
        ),
    ),
    (
        vm(volumes=[DISK | {"emptyDisk": {"capacity": "1Gi"}}]),
        f"{PATH}.volumes[0]: Invalid value: give exactly one of containerDisk, hostDisk and emptyDisk",
    ),
    (
        vm(spec={"running": True, "runStrategy": "Always"}),
        (
            "spec: Invalid value: Running and RunStrategy are mutually exclusive. Note that Running is deprecated,"
            " please use RunStrategy instead"
        ),
    ),
]
"""What a FlexVM is created with, and why it is refused; the same on a real server."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """A server to which all was applied that virtual machines need."""
    async with serving(Settings(data=tmp_path_factory.mktemp("server")), SystemClock()) as running:
        for each in objects(manifests(["namespace", "flexvm", "rbac", "flexvm-rbac"])):
            await running.cluster.create(APPLIED_AS[each["kind"]], each["metadata"].get("namespace", ""), each)
        yield running


async def stored(cluster: Cluster, spec: Json) -> Any:
    """The spec that a FlexVM has after it was created with this one, or the complaint."""
    body: Json = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": "db"}, "spec": spec}
    try:
        made = msgspec.json.decode(await cluster.create(FLEX_VMS, "default", body))
    except status.ApiError as error:
        return str(error).removeprefix('FlexVM.vm.flexlet.io "db" is invalid: ')
    await cluster.delete(FLEX_VMS, "default", "db")
    return made["spec"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("spec", TAKEN)
async def test_a_machine_is_completed(server: ApiServer, spec: Json) -> None:
    assert await stored(server.cluster, spec) == completed(spec)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("spec", "complaint"), REFUSED)
async def test_a_machine_is_refused(server: ApiServer, spec: Json, complaint: str) -> None:
    assert await stored(server.cluster, spec) == complaint


@pytest.mark.asyncio(loop_scope="module")
async def test_a_move_cannot_be_changed(server: ApiServer) -> None:
    move = {"apiVersion": names.API_VERSION, "kind": names.MIGRATION_KIND, "metadata": {"name": "m"}}
    await server.cluster.create(MIGRATIONS, "default", move | {"spec": {"vmName": "db"}})
    with pytest.raises(status.ApiError) as refused:
        await server.cluster.patch(MIGRATIONS, "default", "m", {"spec": {"vmName": "other"}})
    assert str(refused.value) == (
        'FlexVMMigration.vm.flexlet.io "m" is invalid: spec: Invalid value: a move cannot be changed: delete it'
        " and make another one"
    )


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("user", "verb", "resource", "allowed"),
    [
        (CONTROLLERS, "watch", "flexvms.vm.flexlet.io", True),
        (CONTROLLERS, "patch", "flexvms.vm.flexlet.io/status", True),
        (CONTROLLERS, "create", "flexvmmigrations.vm.flexlet.io", True),
        (CONTROLLERS, "patch", "flexvmmigrations.vm.flexlet.io/status", True),
        (CONTROLLERS, "create", "pods", True),
        (CONTROLLERS, "delete", "pods", True),
        (CONTROLLERS, "patch", "pods/resize", True),
        (CONTROLLERS, "create", "pods/exec", True),
        (CONTROLLERS, "watch", "resourcequotas", True),
        (CONTROLLERS, "patch", "nodesizes.flexlet.io", True),
        (CONTROLLERS, "delete", "flexvms.vm.flexlet.io", False),
        (CONTROLLERS, "update", "pods", False),
        (CONTROLLERS, "get", "secrets", False),
        ("alice", "patch", "flexvms.vm.flexlet.io", False),
    ],
)
async def test_accounts_may_what_they_need_and_no_more(
    server: ApiServer, user: str, verb: str, resource: str, allowed: bool
) -> None:
    assert await may(server, user, verb, resource, "team") is allowed


def test_the_schema_has_a_place_for_everything_that_the_controller_reads_and_writes() -> None:
    """What has none would be cut off silently."""
    machine, move = (
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        for definition in objects(manifests(["flexvm"]))
    )
    assert missing(FlexVMSpec, machine["spec"]) == ["devices.tpm", "domain.launchSecurity"]
    assert missing(FlexVMStatus, machine["status"]) == []
    assert (missing(MigrationSpec, move["spec"]), missing(MigrationStatus, move["status"])) == ([], [])
