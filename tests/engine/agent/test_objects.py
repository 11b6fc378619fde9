"""ConfigMaps, Secrets and tokens that pods are made from."""

import base64
from typing import Any

import msgspec
import pytest
from tests.core.agent.builders import UID, container, pod
from tests.engine.fakes import FakeClock, FakeCluster, Object

from flexlet.api import age, status
from flexlet.api.status import ApiError, NotFound, not_found
from flexlet.core.agent.containers.contents import Content, Reference, TokenRequest
from flexlet.engine.agent.objects import Objects
from flexlet.ports.cluster import Ref

POD = pod(container("c"), service_account_name="robot")
CM, SECRET = Reference("ConfigMap", "cm"), Reference("Secret", "s")
HOUR = TokenRequest("", 3600)


class Cluster(FakeCluster):
    """Hands out tokens that live as long as was asked."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.clock = clock
        self.asked: list[tuple[str, Any]] = []

    async def create(self, ref: Ref, namespace: str, body: Object, *, path: str = "") -> bytes:
        self._check("create")
        self.asked.append((f"{namespace}/{ref.plural}/{path}", body["spec"]))
        ends = age.format_seconds(self.clock.now() + body["spec"]["expirationSeconds"])
        return msgspec.json.encode({"status": {"token": f"t{len(self.asked)}", "expirationTimestamp": ends}})


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cluster(clock: FakeClock) -> Cluster:
    return Cluster(clock)


async def test_objects_are_what_the_api_holds(cluster: Cluster, clock: FakeClock) -> None:
    meta = {"namespace": "ns"}
    encoded = base64.b64encode(b"\xff").decode()
    cluster.put(
        "configmaps", {"metadata": {**meta, "name": "cm"}, "data": {"a": "ü"}, "binaryData": {"b": encoded}}
    )
    cluster.put("secrets", {"metadata": {**meta, "name": "s"}, "data": {"k": encoded}, "type": "Opaque"})
    missing = Reference("Secret", "none")
    found = await Objects(cluster, clock).material(POD, [CM, SECRET, missing])
    assert found.objects == {
        CM: Content({"a": "ü".encode()}, {"b": b"\xff"}),
        SECRET: Content({"k": b"\xff"}, type="Opaque"),
        missing: None,
    }


async def test_an_object_is_fetched_once_in_a_while(cluster: Cluster, clock: FakeClock) -> None:
    cluster.put("configmaps", {"metadata": {"namespace": "ns", "name": "cm"}, "data": {"a": "1"}})
    objects = Objects(cluster, clock)
    for _ in range(3):
        await objects.material(POD, [CM])
    assert len(cluster.log) == 1
    clock.time += 2
    cluster.put("configmaps", {"metadata": {"namespace": "ns", "name": "cm"}})
    assert (await objects.material(POD, [CM])).objects == {CM: Content({})}
    assert len(cluster.log) == 2


async def test_an_api_that_does_not_answer_is_an_error_and_nothing_is_remembered(
    cluster: Cluster, clock: FakeClock
) -> None:
    objects = Objects(cluster, clock)
    cluster.refuse["get"] = status.internal("later")
    with pytest.raises(ApiError, match="later"):
        await objects.material(POD, [CM])
    cluster.refuse.clear()
    assert (await objects.material(POD, [CM])).objects == {CM: None}


async def test_a_token_is_bound_to_the_pod_and_renewed_when_four_fifths_are_spent(
    cluster: Cluster, clock: FakeClock
) -> None:
    objects = Objects(cluster, clock)
    vault = TokenRequest("vault", 600)
    found = []
    for seconds in (0, 479, 2, 2400):
        clock.time += seconds
        found.append((await objects.material(POD, [], [vault, HOUR])).tokens)
    assert found == [
        {vault: "t1", HOUR: "t2"},
        {vault: "t1", HOUR: "t2"},
        {vault: "t3", HOUR: "t2"},
        {vault: "t4", HOUR: "t5"},
    ]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": UID}
    assert cluster.asked[:2] == [
        (
            "ns/serviceaccounts/robot/token",
            {"expirationSeconds": 600, "boundObjectRef": bound, "audiences": ["vault"]},
        ),
        ("ns/serviceaccounts/robot/token", {"expirationSeconds": 3600, "boundObjectRef": bound}),
    ]


async def test_no_token_is_kept_longer_than_a_day(cluster: Cluster, clock: FakeClock) -> None:
    objects = Objects(cluster, clock)
    week = TokenRequest("", 7 * 86400)
    found = []
    for seconds in (0, 86000, 800):
        clock.time += seconds
        found.append((await objects.material(POD, [], [week])).tokens[week])
    assert found == ["t1", "t1", "t2"]


async def test_a_token_that_cannot_be_renewed_serves_until_its_end(cluster: Cluster, clock: FakeClock) -> None:
    objects = Objects(cluster, clock)
    await objects.material(POD, [], [HOUR])
    cluster.refuse["create"] = not_found("serviceaccounts", "", "robot")
    clock.time += 3500
    assert (await objects.material(POD, [], [HOUR])).tokens == {HOUR: "t1"}
    clock.time += 200
    with pytest.raises(NotFound):
        await objects.material(POD, [], [HOUR])


async def test_tokens_of_a_pod_that_is_gone_are_forgotten(cluster: Cluster, clock: FakeClock) -> None:
    objects = Objects(cluster, clock)
    await objects.material(POD, [], [HOUR])
    objects.forget(UID)
    assert (await objects.material(POD, [], [HOUR])).tokens == {HOUR: "t2"}
