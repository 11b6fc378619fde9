"""Deeds carried out to their end, and what is said when they cannot be."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID, container, pod, record, run, runtime, sandbox
from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.adapters.podfiles import PodDirectories
from flexlet.adapters.sim.cgroups import SimOomScores
from flexlet.adapters.sim.kernel import Kernel
from flexlet.api import decode, status
from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.handlers import ExecAction, Handler, HttpGetAction, Lifecycle, Probe, SleepAction
from flexlet.api.nodepod.pod import LocalReference
from flexlet.api.nodepod.volumes import Volume
from flexlet.core.agent.containers import names
from flexlet.core.agent.deeds import MountVolumes, PullImage, RunProbe, StartContainer
from flexlet.core.agent.observations import Answer, Done, Failed, Outcome, PodObservation, PullBegan, Shown
from flexlet.core.agent.record import ImageState
from flexlet.core.agent.world import World
from flexlet.core.resize.allocation import of_spec
from flexlet.core.runtime.configs import Mount, PullCredentials
from flexlet.core.runtime.shown import EXITED, Container, ExecResult, Image, RuntimePod
from flexlet.engine.agent.hands import AgentHands, Puller, Tools
from flexlet.engine.agent.ledger import Ledger
from flexlet.errors import RuntimeFault
from flexlet.testing.host import SimHost
from flexlet.testing.memory import MemoryCheckpoints, SimProber

IMAGE = Image(id="sha256:1", size=7, uid=5)
C = container("c", "100m,64Mi")
PULL = PullImage(uid=UID, container="c", image="busybox", policy="IfNotPresent")


class Runtime:
    """Answers from lists; a fault in a list is raised."""

    def __init__(self) -> None:
        self.images: list[Image | RuntimeFault | None] = []
        self.pulls: list[str | RuntimeFault] = []
        self.execs: list[ExecResult | RuntimeFault] = []
        self.pod = RuntimePod(UID)
        self.asked: list[Any] = []
        self.made: list[Any] = []

    async def image(self, name: str) -> Image | None:
        self.asked.append(name)
        found: Image | None = _answer(self.images)
        return found

    async def pull(self, name: str, credentials: PullCredentials | None, around: Any) -> str:
        del around
        self.asked.append((name, credentials and credentials.username))
        return str(_answer(self.pulls))

    async def exec_sync(self, container_id: str, command: tuple[str, ...], timeout_s: int) -> ExecResult:
        self.asked.append((container_id, command, timeout_s))
        found = _answer(self.execs)
        assert isinstance(found, ExecResult)
        return found

    async def create_container(self, sandbox_id: str, config: Any, around: Any) -> str:
        self.made.append((sandbox_id, config, around))
        return "made"

    async def start_container(self, container_id: str) -> None:
        self.asked.append(container_id)

    async def inspect(self, uid: str) -> RuntimePod:
        del uid
        return self.pod


class Cgroups:
    """There are none."""

    async def read(self, path: str, names: Any) -> dict[str, str]:
        del path, names
        return {}

    async def exists(self, path: str) -> bool:
        return not path

    async def children(self, path: str) -> tuple[str, ...]:
        del path
        return ()


def _answer(answers: list[Any]) -> Any:
    found = answers.pop(0)
    if isinstance(found, Exception):
        raise found
    return found


class Bench:
    """Hands with everything they hold."""

    def __init__(self, directory: Path) -> None:
        self.runtime = Runtime()
        self.cluster = FakeCluster()
        self.clock = FakeClock(NOW)
        self.setup = replace(SETUP, root=str(directory / "root"), pod_logs=str(directory / "logs"))
        given: dict[str, Any] = {"runtime": self.runtime, "cgroups": Cgroups(), "cluster": self.cluster}
        self.tools = Tools(
            **given,
            files=PodDirectories(directory / "root", directory / "links", self.clock, mounts=False),
            prober=SimProber(),
            clock=self.clock,
            ledger=Ledger(MemoryCheckpoints()),
            host=SimHost(),
            scores=SimOomScores(Kernel(self.clock)),
        )
        self.told: list[PodObservation] = []
        self.tools.tell = self.told.append
        self.hands = AgentHands(self.tools, Puller(self.tools))

    async def do(self, deed: Any, of: NodePod, **more: Any) -> Outcome:
        known = record(of, **{"shown": runtime(sandboxes=(sandbox(),)), "ips": ("10.1.0.1",), **more})
        return await self.hands.do(deed, known, World(setup=self.setup, pods={UID: known}))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def fault(code: str, detail: str) -> RuntimeFault:
    return RuntimeFault("x", code=code, detail=detail)


@pytest.mark.parametrize(
    ("policy", "images", "pulls", "expected"),
    [
        ("IfNotPresent", [IMAGE], [], Done(image_ref="sha256:1", user=5, size=7)),
        ("Never", [IMAGE], [], Done(image_ref="sha256:1", user=5, size=7)),
        ("IfNotPresent", [None, IMAGE], ["ref"], Done(image_ref="ref", pulled=True, user=5, size=7)),
        ("Always", [None], ["ref"], Done(image_ref="ref", pulled=True)),
        (
            "Never",
            [None],
            [],
            Failed(
                reason="ErrImageNeverPull",
                message='Container image "busybox" is not present with pull policy of Never',
            ),
        ),
        (
            "IfNotPresent",
            [fault("Unavailable", "away")],
            [],
            Failed(
                reason="ImageInspectError",
                message='Failed to inspect image "": rpc error: code = Unavailable desc = away',
            ),
        ),
        (
            "Always",
            [],
            [fault("NotFound", "gone")],
            Failed(
                reason="ErrImagePull",
                message="rpc error: code = NotFound desc = gone",
                detail="rpc error: code = NotFound desc = gone",
            ),
        ),
        (
            "Always",
            [],
            [fault("Unknown", "RegistryUnavailable: x")],
            Failed(
                reason="RegistryUnavailable",
                message="image pull failed for busybox because the registry is unavailable: x",
                detail="RegistryUnavailable: x",
            ),
        ),
    ],
)
async def test_an_image_is_had_as_its_policy_says(
    policy: str, images: list[Any], pulls: list[Any], expected: Outcome, bench: Bench
) -> None:
    bench.runtime.images, bench.runtime.pulls = list(images), list(pulls)
    assert await bench.do(replace(PULL, policy=policy), pod(C)) == expected
    began = [PullBegan(uid=UID, container="c", image="busybox")] if pulls else []
    assert bench.told == began


async def test_every_fitting_secret_is_tried_and_the_absent_ones_are_told(bench: Bench) -> None:
    auths = b'{"auths": {"docker.io": {"username": "a"}, "docker.io/library": {"username": "b"}}}'
    body = {
        "metadata": {"namespace": "ns", "name": "s"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(auths).decode()},
    }
    bench.cluster.put("secrets", body)
    of = pod(C, image_pull_secrets=tuple(LocalReference(name=name) for name in ("s", "none")))
    bench.runtime.pulls = [fault("Unknown", "no b"), fault("Unknown", "no a")]
    outcome = await bench.do(replace(PULL, policy="Always"), of)
    assert bench.runtime.asked == [("busybox:latest", "b"), ("busybox:latest", "a")]
    assert outcome == Failed(reason="ErrImagePull", message="[no b, no a]", detail="[no b, no a]")
    assert bench.told == [PullBegan(uid=UID, container="c", image="busybox", absent_secrets=("none",))]


async def test_a_name_that_is_none_is_not_asked_for(bench: Bench) -> None:
    outcome = await bench.do(replace(PULL, image="Busy Box"), pod(C))
    assert isinstance(outcome, Failed)
    assert (outcome.reason, bench.runtime.asked) == ("InvalidImageName", [])


def start(of: NodePod, name: str = "c") -> StartContainer:
    return StartContainer(
        uid=UID, container=name, attempt=1, sandbox_id="s0", image_ref="sha256:1", actuated=of_spec(of)
    )


async def test_a_container_is_recorded_made_and_started_with_its_files(bench: Bench, tmp_path: Path) -> None:
    of = pod(C)
    outcome = await bench.do(start(of), of, images={"c": ImageState(ref="sha256:1")})
    assert (outcome, bench.tools.ledger.actuated.get(record(of).pod_uid)) == (Done(id="made"), of_spec(of))
    (made,) = bench.runtime.made
    places = [each.container_path for each in made[1].mounts]
    assert (made[0], places, (tmp_path / "logs/ns_p_uid-1/c").is_dir()) == (
        "s0",
        ["/etc/hosts", "/dev/termination-log"],
        True,
    )


async def test_what_cannot_be_configured_is_told_as_such_and_nothing_is_recorded(bench: Bench) -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}}]
    given = decode.from_value({"name": "c", "image": "busybox:1", "env": env}, type(C))
    of = pod(given)
    missing = await bench.do(start(of), of)
    bench.cluster.refuse["get"] = status.internal("later")
    bench.clock.time += 2
    away = await bench.do(start(of), of)
    debug = pod(C, ephemeral_containers=(container("d", target_container_name="zz"),))
    target = await bench.do(start(debug, "d"), debug)
    texts = ['configmap "cm" not found', str(bench.cluster.refuse["get"]), "unable to find target container zz"]
    assert [missing, away, target] == [
        Failed(reason="CreateContainerConfigError", message=text, stage="config") for text in texts
    ]
    assert (bench.runtime.made, bench.tools.ledger.actuated.uids()) == ([], ())


def hooked(handler: Handler) -> NodePod:
    return pod(container("c", lifecycle=Lifecycle(post_start=handler)))


EXEC = Handler(exec=ExecAction(command=("a", "b")))
IN = 'for Container "c" in Pod "p_ns(uid-1)" failed - error: '


@pytest.mark.parametrize(
    ("handler", "answers", "expected"),
    [
        (EXEC, [ExecResult(b"", b"", 0)], ""),
        (
            EXEC,
            [ExecResult(b"out", b"err", 3)],
            f"""Exec lifecycle hook ([a b]) {IN}command 'a b' exited with 3: err, message: "outerr\"""",
        ),
        (
            EXEC,
            [fault("Unknown", "broken")],
            f'Exec lifecycle hook ([a b]) {IN}rpc error: code = Unknown desc = broken, message: ""',
        ),
        (Handler(sleep=SleepAction(seconds=3)), [], ""),
        (
            Handler(http_get=HttpGetAction(path="/x", port=80)),
            [],
            f"HTTP lifecycle hook (/x) {IN}dial tcp 10.1.0.1:80: connection refused",
        ),
    ],
)
async def test_hooks_that_fail_say_so_in_the_kubelets_words(
    handler: Handler, answers: list[Any], expected: str, bench: Bench
) -> None:
    bench.runtime.execs = list(answers)
    of = hooked(handler)
    outcome = await bench.do(start(of), of)
    if not expected:
        assert outcome == Done(id="made")
    else:
        assert outcome == Failed(reason="PostStartHookError", message=expected, stage="hook", id="made")


@pytest.mark.parametrize(
    ("answers", "asked", "result"),
    [
        ([ExecResult(b"", b"", 0)], 1, "success"),
        ([fault("Unknown", "x"), ExecResult(b"", b"", 1)], 2, "failure"),
        ([fault("Unknown", "x")] * 3, 3, "unknown"),
        ([fault("DeadlineExceeded", "x")], 1, "failure"),
    ],
)
async def test_a_probe_that_could_not_be_put_is_put_again(
    answers: list[Any], asked: int, result: str, bench: Bench
) -> None:
    bench.runtime.execs = list(answers)
    of = pod(container("c", liveness_probe=Probe(exec=ExecAction(command=("x",)))))
    outcome = await bench.do(RunProbe(uid=UID, container="c", container_id="c#0", kind="liveness"), of)
    assert isinstance(outcome, Answer)
    assert (outcome.result, len(bench.runtime.asked)) == (result, asked)


def with_volumes(*given: dict[str, Any]) -> NodePod:
    return pod(C, volumes=tuple(decode.from_value(each, Volume) for each in given))


async def test_a_volume_that_cannot_be_made_is_named(bench: Bench, tmp_path: Path) -> None:
    fine = {"name": "fine", "emptyDir": {}}
    host = {"name": "h", "hostPath": {"path": str(tmp_path / "none"), "type": "Directory"}}
    config = {"name": "cm", "configMap": {"name": "cm"}}
    deed = MountVolumes(uid=UID)
    found = [await bench.do(deed, with_volumes(fine)), await bench.do(deed, with_volumes(fine, host))]
    found.append(await bench.do(deed, with_volumes(config, fine)))
    bench.cluster.refuse["get"] = status.internal("later")
    bench.clock.time += 2
    found.append(await bench.do(deed, with_volumes(fine, config)))
    assert found == [
        Done(),
        Failed(message=f"hostPath type check failed: {tmp_path}/none is not a directory", detail="h"),
        Failed(message='configmap "cm" not found', detail="cm"),
        Failed(message=str(bench.cluster.refuse["get"]), detail="cm"),
    ]


async def test_last_words_are_the_end_of_the_file_or_of_the_log(bench: Bench, tmp_path: Path) -> None:
    words, log = tmp_path / "words", tmp_path / "0.log"
    await asyncio.to_thread(words.write_text, "x" * 5000 + "end")
    await asyncio.to_thread(log.write_text, "2016-10-06T00:17:09.6Z stdout F oops\n")
    noted = {names.MESSAGE_PATH: "/m", names.MESSAGE_POLICY: "FallbackToLogsOnError"}
    mount = Mount(container_path="/m", host_path=str(words))

    def ended(attempt: int, **more: Any) -> Container:
        return run(C, attempt, EXITED, annotations=noted, exit_code=1, log_path=str(log), **more)

    bench.runtime.pod = runtime(ended(1, mounts=(mount,)), ended(0))
    of = pod(C)
    assert await bench.do(start(of), of, messages={}) == Done(id="made")
    (shown,) = bench.told
    assert isinstance(shown, Shown)
    assert shown.messages == {"c#1": ("x" * 5000 + "end")[-4096:], "c#0": "oops\n"}
