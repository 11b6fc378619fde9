"""Variables that one container of a pod writes into a file and another one has, on an agent."""

from pathlib import Path
from typing import Any

from tests.engine.agent.nodes import Node, node, run

from flexlet.core.runtime.shown import RUNNING

MOUNT = [{"name": "v", "mountPath": "/v"}]
VOLUMES = [{"name": "v", "emptyDir": {}}]


def writer(text: str) -> list[dict[str, Any]]:
    command = ["sh", "-c", f'echo -n "{text}" > /v/it.env']
    return [{"name": "writer", "image": "busybox:1", "command": command, "volumeMounts": MOUNT}]


def reader(**more: Any) -> list[dict[str, Any]]:
    selector = {"volumeName": "v", "path": "it.env", "key": "COLOUR", **more}
    env = [{"name": "SHADE", "valueFrom": {"fileKeyRef": selector}}, {"name": "SAID", "value": "$(SHADE)!"}]
    return [{"name": "app", "image": "busybox:1", "command": ["sleep", "1000"], "env": env}]


async def told(at: Node, name: str) -> Any:
    (status,) = (await at.cluster.pod(name))["status"]["containerStatuses"]
    return status["state"].get("waiting")


def test_what_an_init_container_writes_is_in_the_environment(tmp_path: Path) -> None:
    """The volume need not be mounted by the container that has the variable."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            await at.pod("web", initContainers=writer("COLOUR='red'"), containers=reader(), volumes=VOLUMES)
            await at.passes(5)
            (found,) = (each for each in at.sim.containerd.containers.values() if each.config.name == "app")
            envs = {name: value for name, value in found.config.envs if not name.startswith("KUBERNETES_")}
            assert (found.state, envs) == (RUNNING, {"SHADE": "red", "SAID": "red!"})

    run(tale())


def test_a_file_that_says_nothing_of_use_keeps_the_container_waiting(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            absent = await at.pod("absent", initContainers=writer("X='1'"), containers=reader(), volumes=VOLUMES)
            await at.pod("broken", initContainers=writer("COLOUR=red"), containers=reader(), volumes=VOLUMES)
            await at.passes(5)
            path = f"{tmp_path}/kubelet/pods/{absent}/volumes/kubernetes.io~empty-dir/v/it.env"
            missing = f'environment variable key "COLOUR" not found in file "{path}"'
            reason = "CreateContainerConfigError"
            assert await told(at, "absent") == {"reason": reason, "message": missing}
            assert await told(at, "broken") == {"reason": reason, "message": "couldn't parse env file"}

    run(tale())


def test_an_optional_variable_is_left_out(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            containers = reader(optional=True)
            await at.pod("web", initContainers=writer("X='1'"), containers=containers, volumes=VOLUMES)
            await at.passes(5)
            (found,) = (each for each in at.sim.containerd.containers.values() if each.config.name == "app")
            assert dict(found.config.envs).get("SAID") == "$(SHADE)!"
            assert "SHADE" not in dict(found.config.envs)

    run(tale())
