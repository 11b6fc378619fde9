"""Static pods on an agent: they run, they have mirrors, they give way to each other, and they need no API."""

import asyncio
import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.nodes import NODE, Node, idle, node, plain, run

from flexlet.api import status
from flexlet.api.status import ApiError
from flexlet.apps.podrules import ServerRules
from flexlet.core.gates import DEFAULTS
from flexlet.core.staticpods.pods import Manifest
from flexlet.engine.agent.staticpods import StaticSource
from flexlet.ports.cluster import PODS

NAME = f"web-{NODE}"


class Folder:
    """Manifests that a test puts there."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        self._changed = asyncio.Event()
        self._held: tuple[Manifest, ...] = ()
        self.put(*manifests)

    def put(self, *manifests: dict[str, Any]) -> None:
        self._held = tuple(Manifest(f"/etc/{each['metadata']['name']}.yaml", each) for each in manifests)
        self._changed.set()

    async def changes(self) -> AsyncIterator[tuple[Manifest, ...]]:
        while True:
            await self._changed.wait()
            self._changed.clear()
            yield self._held

    @property
    def source(self) -> StaticSource:
        return StaticSource(self, ServerRules(DEFAULTS))


async def mirror(at: Node) -> dict[str, Any] | None:
    try:
        return await at.cluster.pod(NAME)
    except ApiError:
        return None


def uids(at: Node) -> list[str]:
    """Of pods with a running container."""
    return sorted(
        each.sandbox.config.uid for each in at.sim.containerd.containers.values() if each.state == "RUNNING"
    )


def test_a_static_pod_runs_and_its_mirror_tells_how_it_is(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(5)
            found = await mirror(at)
            assert found is not None
            (uid,) = uids(at)
            assert found["metadata"]["annotations"]["kubernetes.io/config.mirror"] == uid
            assert found["metadata"]["uid"] != uid
            assert found["status"]["phase"] == "Running"
            assert [each["ready"] for each in found["status"]["containerStatuses"]] == [True]

    run(tale())


def test_a_changed_manifest_ends_the_old_pod_before_the_new_one_comes(tmp_path: Path) -> None:
    """Two pods of one name never run side by side; the mirror follows."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            folder = Folder(plain("web"))
            await at.begin(static=folder.source)
            await at.passes(5)
            (old,) = uids(at)
            folder.put(plain("web", terminationGracePeriodSeconds=2))
            most = 0
            for _ in range(80):
                await at.passes(0.1)
                most = max(most, len(uids(at)))
            (new,) = uids(at)
            assert (most, new != old) == (1, True)
            found = await mirror(at)
            assert found is not None
            assert found["metadata"]["annotations"]["kubernetes.io/config.mirror"] == new
            assert found["status"]["phase"] == "Running"

    run(tale())


def test_a_manifest_that_is_removed_takes_pod_and_mirror_along(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            folder = Folder(plain("web"))
            await at.begin(static=folder.source)
            await at.passes(5)
            folder.put()
            await at.passes(10)
            assert uids(at) == []
            assert await mirror(at) is None
            assert at.agent.loop.world.pods == {}

    run(tale())


def test_a_mirror_that_somebody_deletes_comes_back(tmp_path: Path) -> None:
    """Deleting a mirror does not touch the pod."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(5)
            before, first = uids(at), await mirror(at)
            await at.cluster.delete(NAME)
            await at.passes(5)
            second = await mirror(at)
            assert first is not None
            assert second is not None
            assert first["metadata"]["uid"] != second["metadata"]["uid"]
            assert second["status"]["phase"] == "Running"
            assert uids(at) == before

    run(tale())


def test_an_agent_that_comes_back_finds_its_static_pod(tmp_path: Path) -> None:
    """The same manifest is the same pod: nothing is restarted, the mirror stays."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(5)
            runs, first = set(at.sim.containerd.containers), await mirror(at)
            await at.end()
            await at.passes(60)
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(30)
            second = await mirror(at)
            assert first is not None
            assert second is not None
            assert set(at.sim.containerd.containers) == runs
            assert second["metadata"]["uid"] == first["metadata"]["uid"]

    run(tale())


def test_a_manifest_that_changed_meanwhile_replaces_the_pod_of_the_old_one(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(5)
            (old,) = uids(at)
            await at.end()
            await at.begin(static=Folder(plain("web", terminationGracePeriodSeconds=3)).source)
            most = 0
            for _ in range(80):
                await at.passes(0.1)
                most = max(most, len(uids(at)))
            assert most == 1
            assert uids(at) != [old]
            assert len(uids(at)) == 1

    run(tale())


def test_leftover_mirrors_go_when_there_are_no_manifests(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(5)
            await at.end()
            await at.begin()
            await at.passes(10)
            assert await mirror(at) is None
            assert uids(at) == []

    run(tale())


class Deaf:
    """An API that nobody can reach until it is opened."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.is_open = False

    def __getattr__(self, name: str) -> Any:
        if self.is_open:
            return getattr(self._inner, name)

        async def refuse(*_: Any, **__: Any) -> Any:
            raise status.failure(503, "ServiceUnavailable", "nobody is there")

        return refuse


def test_static_pods_do_not_wait_for_the_api_for_ever(tmp_path: Path) -> None:
    """It may be a static pod that serves it. Strangers stay untouched until the API has spoken."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            uid = await at.pod("plain")
            await at.begin()
            await at.passes(5)
            await at.end()
            deaf = Deaf(at.cluster.as_node(NODE))
            await at.begin(static=Folder(plain("web")).source, cluster=deaf)
            await at.passes(5)
            assert uids(at) == [uid]
            await at.passes(10)
            assert len(uids(at)) == 2
            deaf.is_open = True
            await at.passes(30)
            assert uid in uids(at)
            assert len(uids(at)) == 2
            found = await mirror(at)
            assert found is not None
            assert found["status"]["phase"] == "Running"

    run(tale())


def test_a_manifest_that_cannot_be_used_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            bad = copy.deepcopy(plain("web"))
            bad["spec"]["serviceAccountName"] = "default"
            folder = Folder(bad)
            await at.begin(static=folder.source)
            await idle()
            folder.put(bad)
            await at.passes(5)
            assert await mirror(at) is None

    run(tale())
    assert [each.getMessage() for each in caplog.records if "is not run" in each.getMessage()] == [
        "/etc/web.yaml is not run: static pods may not reference serviceaccounts"
    ]


def test_the_api_lists_no_other_pods(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(static=Folder(plain("web")).source)
            await at.passes(5)
            listing = await at.cluster.cluster.list(PODS, "")
            assert len(listing.items) == 1

    run(tale())
