"""Volumes that are images, on an agent."""

from pathlib import Path
from typing import Any

from tests.engine.agent.nodes import Node, node, run

from flexlet.adapters.sim.images import Pull, made
from flexlet.core.runtime.shown import RUNNING

MODELS = "registry.example/models:2"


def app(name: str = "app", script: str = "cat /v/small.txt; sleep 1000", **mount: Any) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/v", **mount}]
    return {"name": name, "image": "busybox:1", "command": ["sh", "-c", script], "volumeMounts": mounts}


def volumes(policy: str = "IfNotPresent") -> list[dict[str, Any]]:
    return [{"name": "v", "image": {"reference": MODELS, "pullPolicy": policy}}]


def serve(at: Node, **more: Any) -> None:
    at.sim.images.pulls[MODELS] = Pull(image=made(MODELS), seconds=2.0, **more)
    at.sim.images.files[MODELS] = {"lib/small.txt": "tiny"}


async def told(at: Node) -> list[tuple[str, str, str]]:
    found = await at.cluster.events()
    wanted = {"Pulling", "Pulled", "Failed", "BackOff", "ErrImageNeverPull"}
    return [
        (each["reason"], each["message"], each["involvedObject"].get("fieldPath", ""))
        for each in found
        if each["reason"] in wanted and "busybox" not in each["message"]
    ]


async def waiting(at: Node, name: str) -> Any:
    (status,) = (await at.cluster.pod(name))["status"]["containerStatuses"]
    return status["state"].get("waiting")


def test_an_image_is_pulled_once_and_its_files_are_seen(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            serve(at)
            await at.pod("web", containers=[app(subPath="lib"), app("other")], volumes=volumes())
            await at.passes(5)
            found = {each.config.name: each for each in at.sim.containerd.containers.values()}
            assert {name: each.state for name, each in found.items()} == {"app": RUNNING, "other": RUNNING}
            log = await at.sim.runtime.exec_sync(found["app"].id, ("cat", "/v/small.txt"), 5)
            assert log.stdout == b"tiny"
            (mount,) = (each for each in found["app"].config.mounts if each.container_path == "/v")
            image = mount.image
            assert image is not None
            assert (mount.host_path, mount.readonly) == ("", True)
            assert (image.ref, image.name, image.sub_path) == (made(MODELS).id, MODELS, "lib")
            pulled = (
                f'Successfully pulled image "{MODELS}" in 2s (2s including waiting). Image size: 4000000 bytes.'
            )
            assert await told(at) == [("Pulling", f'Pulling image "{MODELS}"', ""), ("Pulled", pulled, "")]

    run(tale())


def test_an_image_that_cannot_be_had_is_why_the_container_waits(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            at.sim.images.pulls[MODELS] = Pull(error="no such thing")
            await at.pod("web", containers=[app()], volumes=volumes())
            await at.passes(2)
            assert await waiting(at, "web") == {"reason": "ErrImagePull", "message": "no such thing"}
            await at.passes(5)
            text = f'Back-off pulling image "{MODELS}": ErrImagePull: no such thing'
            assert await waiting(at, "web") == {"reason": "ImagePullBackOff", "message": text}
            where = "spec.containers{app}"
            assert await told(at) == [
                ("Pulling", f'Pulling image "{MODELS}"', ""),
                ("Failed", f'Failed to pull image "{MODELS}": no such thing', ""),
                ("Failed", "Error: ErrImagePull", where),
                ("BackOff", f'Back-off pulling image "{MODELS}"', ""),
                ("Failed", "Error: ImagePullBackOff", where),
            ]
            serve(at)
            await at.passes(15)
            assert await waiting(at, "web") is None

    run(tale())


def test_an_image_that_must_not_be_pulled(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            await at.pod("web", containers=[app()], volumes=volumes("Never"))
            await at.passes(2)
            text = f'Container image "{MODELS}" is not present with pull policy of Never'
            assert await waiting(at, "web") == {"reason": "ErrImageNeverPull", "message": text}
            at.sim.images.add(made(MODELS))
            await at.passes(15)
            assert await waiting(at, "web") is None

    run(tale())


def test_a_part_that_the_image_does_not_have(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            serve(at)
            await at.pod("web", containers=[app(subPath="none")], volumes=volumes())
            await at.passes(5)
            why = 'failed to ensure image subpath "none" in "/v": no such file or directory'
            text = f"ImageVolumeMountFailed: {why}"
            assert await waiting(at, "web") == {"reason": "CreateContainerError", "message": text}

    run(tale())


def test_always_asks_again_before_each_run(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            serve(at)
            await at.pod("web", containers=[app(script="exit 0")], volumes=volumes("Always"))
            await at.passes(30)
            pulls = [each for each in await told(at) if each[0] == "Pulled"]
            runs = (await at.cluster.pod("web"))["status"]["containerStatuses"][0]["restartCount"] + 1
            events = [each for each in await at.cluster.events() if each["reason"] == "Pulling"]
            assert (len(pulls) >= 1, sum(each.get("count", 1) for each in events)) == (True, runs)

    run(tale())
