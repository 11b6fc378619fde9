"""``flexlet explain node/NAME``: from the node's own file, and from a cluster."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Api, Command

from flexlet.adapters.journal import JournalFile
from flexlet.api.units import GIB, Bytes
from flexlet.cli.main import run
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.saved import Saved, Story
from flexlet.core.hotplug.steps import HoldPods
from flexlet.core.hotplug.victims import Victim
from flexlet.core.journal import nodenotes
from flexlet.core.machine.difference import Change, Direction
from flexlet.core.machine.machine import Cpu, Identity, Machine

pytestmark = pytest.mark.slow

VICTIM = Victim(
    uid="u1",
    namespace="default",
    name="web",
    reason="OutOfcpu",
    message="Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
)


def generation(number: int, boot: str) -> Generation:
    cpus = tuple(Cpu(each, each, 0, 0, 0) for each in range(4))
    machine = Machine(cpus=cpus, memory=Bytes(8 * GIB), identity=Identity(boot_id=boot))
    return Generation(number=number, machine=machine)


def story(number: int, at: float, boot: str, before: int, after: int) -> Story:
    way: Direction = "increase" if before < after else "decrease"
    changes = (Change("cpu", way, before, after), Change("memory", way, 2 * before * GIB, 2 * after * GIB))
    return Story(number=number, boot_id=boot, seen_at=at, published_at=at, finished_at=at + 1.5, changes=changes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    less = msgspec.structs.replace(
        story(3, 200.0, "b", 8, 4),
        victims=(VICTIM,),
        notes=("CPUOvercommitted",),
        deeds=("balloon b made room: cpu 2→1",),
    )
    stories = (story(2, 100.0, "a", 4, 8), less)
    held = Saved(generation=generation(3, "b"), before=generation(2, "b"), stories=stories)
    (tmp_path / saved.FILE).write_bytes(saved.encode(held))
    return tmp_path


FILE_STORY = """\
generation 2, 1970-01-01T00:01:40Z: cpu 4→8, memory 8Gi→16Gi; done after 1.5 s
the machine was started again
generation 3, 1970-01-01T00:03:20Z: cpu 8→4, memory 16Gi→8Gi; done after 1.5 s
  ended default/web: OutOfcpu: Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000
  balloon b made room: cpu 2→1
  remained: CPUOvercommitted
now: generation 3, 4 CPUs, 8Gi of memory, not everything is done for it
"""


def test_the_node_tells_all_of_it(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "node/n1", "--root-dir", str(root)]) == 0
    assert capfd.readouterr() == (f"# from {root}/node_generations\n{FILE_STORY}", "")


JOURNAL_STORY = """\
1970-01-01T00:03:20.000Z  decided  follow the machine to generation 3 (cpu 8→4): HoldPods; end a/web: OutOfcpu
1970-01-01T00:03:20.500Z  learned  HoldPods is done (memory.high 4096) [0.250 s]
1970-01-01T00:03:21.000Z  learned  Publish failed: disk full [0.100 s]
1970-01-01T00:03:22.000Z  learned  {"type":"Unheard"}
"""


def test_the_journal_adds_the_steps(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """After the stories, of the node alone; what another release wrote is shown as it is."""
    path = root / "journal" / "agent.jsonl"
    plan = {"type": "ResizeNode", "generation": 3, "changes": "cpu 8→4", "steps": ["HoldPods"]}
    notes = JournalFile(path)
    notes.note(200.0, "decided", nodenotes.NODE, plan | {"victims": ["a/web: OutOfcpu"]})
    notes.note(200.1, "learned", "some-pod", {"type": "PodGone"})
    held = HoldPods(path="kubepods", files={"memory.high": "4096"})
    notes.note(200.5, "learned", nodenotes.NODE, nodenotes.finished(held, 0.25))
    failed = {"type": "NodeStep", "step": "Publish", "seconds": 0.1, "failed": "disk full"}
    notes.note(201.0, "learned", nodenotes.NODE, failed)
    notes.note(202.0, "learned", nodenotes.NODE, {"type": "Unheard"})
    notes.close()
    assert run(["explain", "node/n1", "--root-dir", str(root)]) == 0
    story = f"# from {root}/node_generations\n{FILE_STORY}"
    assert capfd.readouterr() == (f"{story}# from {path}\n{JOURNAL_STORY}", "")


def test_the_file_for_programs(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "node/n1", "--root-dir", str(root), "-o", "json"]) == 0
    assert saved.parse(capfd.readouterr().out.encode()) == saved.parse((root / saved.FILE).read_bytes())


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / saved.FILE
    words = "name the agent's directory with --root-dir, or a cluster with --kubeconfig"
    assert run(["explain", "node/n1", "--root-dir", str(tmp_path)]) == 1
    told = capfd.readouterr().err
    assert told == f"error: cannot read the node's generations {path}: No such file or directory; {words}\n"
    path.write_text("{}")
    assert run(["explain", "node/n1", "--root-dir", str(tmp_path)]) == 1
    assert capfd.readouterr().err.startswith(f"error: cannot believe the node's generations {path}: ")


CLUSTER_STORY = """\
# from the cluster's events, which it forgets; on n1 itself, --root-dir /var/lib/kubelet tells all of it
generation 6, 2026-01-01T00:00:01Z: cpu 8→16
2026-01-01T00:00:02Z: BalloonInflated: cpu 7 of balloon
2026-01-01T00:00:03Z: NodeHalfPlugged: 1 block of memory there and offline
generation 7, 2026-01-01T00:00:09Z: cpu 16→8
  ended default/web: the node has 8 of cpu for pods and had 16
  default/db: ExclusiveCPUsReassigned: Container c: exclusive CPUs 9→1 (by hand)
now: generation 7, cpu 8, memory 32Gi; InProgress: capacity changed: cpu 16→8
"""


def test_a_cluster_tells_what_it_remembers(api: Api, flexlet: Command) -> None:
    """What belongs to a generation stands below it, whenever it was told; other nodes' pods are left out."""
    moving = {
        "type": "NodeResize",
        "status": "True",
        "reason": "InProgress",
        "message": "capacity changed: cpu 16→8",
    }
    api.node(
        "n1",
        {"cpu": "8", "memory": "32Gi"},
        status={"conditions": [moving]},
        annotations={"flexlet.io/generation": "7"},
    )
    node, size = {"kind": "Node", "name": "n1"}, {"kind": "NodeSize", "name": "n1"}
    web, db, far = ({"kind": "Pod", "namespace": "default", "name": name} for name in ("web", "db", "far"))
    api.event(node, "NodeResized", "capacity changed: cpu 8→16 (generation 6)", "2026-01-01T00:00:01Z")
    api.event(size, "BalloonInflated", "cpu 7 of balloon", "2026-01-01T00:00:02Z")
    api.event(node, "NodeHalfPlugged", "1 block of memory there and offline", "2026-01-01T00:00:03Z", "Warning")
    exceeded = "the node has 8 of cpu for pods and had 16 (generation 7)"
    api.event(web, "NodeCapacityExceeded", exceeded, "2026-01-01T00:00:07Z", "Warning", host="n1")
    api.event(far, "NodeCapacityExceeded", exceeded, "2026-01-01T00:00:07Z", "Warning", host="n2")
    moved = "Container c: exclusive CPUs 9→1 (by hand) (generation 7)"
    api.event(db, "ExclusiveCPUsReassigned", moved, "2026-01-01T00:00:08Z", host="n1")
    api.event(node, "NodeResized", "capacity changed: cpu 16→8 (generation 7)", "2026-01-01T00:00:09Z")
    assert flexlet("explain", "node/n1") == (0, CLUSTER_STORY, "")
    code, printed, _ = flexlet("explain", "node/n1", "-o", "json")
    found = json.loads(printed)
    assert (code, found["generation"], [each["reason"] for each in found["events"]]) == (
        0,
        7,
        ["NodeResized", "BalloonInflated", "NodeHalfPlugged", "NodeResized"],
    )
    assert [each["involvedObject"]["name"] for each in found["told"]] == ["web", "db"]
