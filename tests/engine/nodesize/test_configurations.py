"""Kubelets of sized nodes are asked for their configuration, those of flexlet are not."""

from tests.core.nodesize.worlds import node, size

from flexlet.api.status import ApiError, forbidden
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.nodesize.shapes import Policies
from flexlet.engine.nodesize.configurations import Configurations
from flexlet.ports.cluster import Ref


class Kubelets:
    """Answers to ``nodes/NAME/proxy/configz``."""

    def __init__(self, answers: dict[str, bytes | ApiError]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        del namespace
        self.asked.append(f"{ref.plural}/{name}")
        answer = self.answers[ref.plural]
        if isinstance(answer, ApiError):
            raise answer
        return answer


class Clock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def monotonic(self) -> float:
        return self.time


async def test_each_kubelet_is_asked_once_in_a_while() -> None:
    decider = NodeSizeDecider()
    for observation in (size("k"), node("k"), size("f"), node("f", native=True), size("x"), node("x")):
        decider.fold(observation)
    static = b'{"kubeletconfig": {"cpuManagerPolicy": "static", "port": 10250}}'
    cluster = Kubelets({"nodes/k/proxy": static, "nodes/x/proxy": forbidden("nodes", "", "x", "no")})
    clock, woken = Clock(), []
    asking = Configurations(decider, cluster, clock, lambda: woken.append(1))  # type: ignore[arg-type]
    await asking.look()
    await asking.look()
    assert cluster.asked == ["nodes/k/proxy/configz", "nodes/x/proxy/configz"]
    assert len(woken) == 1
    scene = decider.scene("k")
    assert scene is not None
    assert scene.policies == Policies(cpu_manager_policy="static")
    clock.time += 300
    await asking.look()
    assert len(cluster.asked) == 4
