"""What goes into the journal, and how it reads."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, UID, container, deleted, pod, record, run, runtime, sandbox

from flexlet.api import decode
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.actions import RecordEvent
from flexlet.core.agent import deeds
from flexlet.core.agent.observations import (
    Answer,
    Done,
    Failed,
    Finished,
    HookChanged,
    PodGone,
    PodSeen,
    PullBegan,
    Shown,
)
from flexlet.core.agent.record import Doubt, ProbeState
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.journal import chain, notes, words
from flexlet.core.journal.entry import DECIDED, LEARNED, TOLD, Entry, Note
from flexlet.core.resize.allocation import of_spec
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.steps import UpdateContainer, WritePodCgroup

APP = container("app", "500m,64Mi", "1")
POD = pod(APP)
SMALL = RuntimeResources(cpu_shares=CpuShares(2))
LARGE = RuntimeResources(cpu_shares=CpuShares(2), cpu_quota=Microseconds(50000), memory_limit=Bytes(1024))
TWO_CPUS = CgroupValues(quota=Microseconds(200000), period=Microseconds(100000))


def read(kind: str, note: Note | None) -> str:
    """A note as it comes back from a file, in words."""
    assert note is not None
    plain = msgspec.json.decode(decode.to_json(note))
    return words.sentence(Entry(NOW, kind, UID, plain))


def finished(deed: Any, outcome: Any) -> Finished:
    return Finished(deed=deed, outcome=outcome, began_at=NOW, ended_at=NOW + 0.25)


def test_a_pod_is_noted_with_what_it_asks_for() -> None:
    assert read(LEARNED, notes.learned(PodSeen(POD), None)) == (
        "the API shows ns/p, generation 1: app cpu 500m/1, memory 64Mi"
    )


def test_an_echo_of_the_status_is_no_entry() -> None:
    """Only what the node acts on is news: generation and deletion."""
    told = replace(POD, status=replace(POD.status, phase="Running"))
    assert notes.learned(PodSeen(told), record(POD)) is None


def test_a_deletion_reads_with_its_grace() -> None:
    note = notes.learned(PodSeen(deleted(POD)), record(POD))
    assert read(LEARNED, note) == "the API shows ns/p, generation 2, deleted with 30 s of grace"


def test_an_unsupported_pod_says_what_it_needs() -> None:
    note = notes.learned(PodSeen(pod(container("app")), "file", ("volumes[0].csi",)), None)
    assert read(LEARNED, note) == "a file shows ns/p, generation 1, which needs volumes[0].csi: no resources"


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (PodGone(UID), "nobody asks for the pod any more"),
        (PullBegan(uid=UID, container="app", image="busybox:1"), "pulling busybox:1 for app"),
        (PullBegan(uid=UID, volume="v", image="busybox:1"), "pulling busybox:1 for volume v"),
        (
            finished(deeds.PullImage(uid=UID, volume="v", image="b", policy="Never"), Done()),
            "the image of volume v is here already [0.250 s]",
        ),
        (
            HookChanged(uid=UID, container="app", hook="preStop", state="failed", message="exit 1", seconds=0.5),
            "the preStop hook of app failed: exit 1 [0.500 s]",
        ),
        (
            finished(
                deeds.PullImage(uid=UID, container="app", image="b", policy="Always"), Done(pulled=True, size=7)
            ),
            "the image of app is here, 7 bytes were pulled [0.250 s]",
        ),
        (
            finished(deeds.PullImage(uid=UID, container="app", image="b", policy="Never"), Done()),
            "the image of app is here already [0.250 s]",
        ),
        (
            finished(deeds.RunSandbox(uid=UID, attempt=0), Failed(message="no network")),
            "RunSandbox failed: no network [0.250 s]",
        ),
        (
            finished(
                deeds.PullImage(uid=UID, container="app", image="b", policy="Always"),
                Failed(reason="ErrImagePull", message="not found"),
            ),
            "PullImage of app failed (ErrImagePull): not found [0.250 s]",
        ),
        (
            finished(
                deeds.StopContainer(uid=UID, container="app", container_id="x", grace_s=2, reason="r"),
                Done(hook_failure="exit 1"),
            ),
            "app is stopped, its hook failed: exit 1 [0.250 s]",
        ),
    ],
)
def test_what_is_learned_reads_as_a_sentence(news: Any, text: str) -> None:
    assert read(LEARNED, notes.learned(news, record(POD))) == text


def test_a_look_tells_only_what_is_new() -> None:
    """What was known before is not written again; an unchanged view is no entry."""
    before = runtime(run(APP))
    after = runtime(run(APP, state="EXITED", exit_code=3, reason="Error"))
    known = record(POD, before)
    assert notes.learned(Shown(pod=before), known) is None
    text = read(LEARNED, notes.learned(Shown(pod=after), known))
    assert text == "app (app#0, attempt 0) is EXITED with 3 (Error)"


def test_a_look_tells_whom_the_runtime_has_lost() -> None:
    look = Shown(pod=runtime(run(APP), sandboxes=(sandbox(state="NOTREADY"),)), alive=frozenset({"s0"}))
    known = record(POD, runtime(run(APP)))
    assert read(LEARNED, notes.learned(look, known)) == "sandbox s0 is NOTREADY; s0 runs all the same"
    told = replace(known, shown=look.pod, doubts={"s0": Doubt(since=NOW, seen_at=NOW)})
    assert notes.learned(look, told) is None


def test_a_first_look_tells_everything() -> None:
    look = Shown(
        pod=runtime(
            run(
                APP,
                resources=RuntimeResources(
                    cpu_shares=CpuShares(2), cpu_quota=Microseconds(50000), memory_limit=Bytes(1024)
                ),
            )
        ),
        cgroup=PodCgroup(weight=20, quota=-1, memory_max=4096),
    )
    assert read(LEARNED, notes.learned(look, record(POD))) == (
        "sandbox s0 is READY; app (app#0, attempt 0) is RUNNING with quota 50000, memory 1024; "
        "the pod's cgroup has cpu.weight 20, cpu.max max, memory.max 4096"
    )


def test_a_probe_is_noted_when_its_answer_is_another() -> None:
    deed = deeds.RunProbe(uid=UID, container="app", container_id="x", kind="readiness")
    known = record(POD, probes={"readiness/app": ProbeState(last_answer="success")})
    assert notes.learned(finished(deed, Answer(result="success")), known) is None
    assert notes.learned(finished(deed, Answer(result="warning")), known) is None
    note = notes.learned(finished(deed, Answer(result="failure", output="503\n")), known)
    assert read(LEARNED, note) == "readiness probe of app: failure, 503 [0.250 s]"


@pytest.mark.parametrize(
    ("deed", "text"),
    [
        (deeds.SetCpus(uid=UID, container="app", container_id="x", cpus="0,3"), "move app to CPUs 0,3"),
        (deeds.SaveAllocation(uid=UID, allocation=of_spec(POD)), "allocate app cpu 500m/1, memory 64Mi"),
        (deeds.StartContainer(uid=UID, container="app", attempt=2, sandbox_id="s", image_ref="i",
                              actuated=of_spec(POD)), "start app (attempt 2)"),
        (deeds.CreatePodCgroup(uid=UID, path="p", files={"cpu.weight": "20"}, actuated=of_spec(POD)),
         "make the pod's cgroup: cpu.weight 20"),
        (deeds.TakeStep(uid=UID, step=WritePodCgroup(TWO_CPUS, False, SMALL)),
         "resize cpu.max of the pod: cpu.max 200000 100000"),
        (deeds.TakeStep(uid=UID, step=UpdateContainer(("cpu",), "app", SMALL, False, APP.resources)),
         "resize cpu of app: app cpu 500m/1, memory 64Mi"),
        (deeds.FinishDelete(uid=UID), "tell the API to let the pod go"),
    ],
)  # fmt: skip
def test_what_is_decided_reads_as_a_sentence(deed: Any, text: str) -> None:
    assert read(DECIDED, notes.decided(deed)) == text


def test_looks_and_probes_are_no_decisions_worth_a_line() -> None:
    assert notes.decided(deeds.Inspect(uid=UID)) is None
    assert notes.decided(deeds.RunProbe(uid=UID, container="a", container_id="x", kind="liveness")) is None


def test_a_report_reads_in_short() -> None:
    status = {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
            {"type": "PodScheduled", "status": "True"},
        ],
        "containerStatuses": [
            {
                "name": "app",
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
    }
    assert read(DECIDED, notes.decided(deeds.ReportStatus(uid=UID, status=status))) == (
        "report the status: Running; app waiting CrashLoopBackOff; Ready False (ContainersNotReady), "
        "PodScheduled True; app cpu 1"
    )


def test_events_are_told() -> None:
    event = RecordEvent(about={"name": "p"}, type="Normal", reason="Started", message="Container started",
                        component="kubelet")  # fmt: skip
    assert read(TOLD, notes.told(event)) == "Normal event Started: Container started"


def test_what_another_release_wrote_is_shown_as_it_is() -> None:
    assert words.sentence(Entry(NOW, LEARNED, UID, {"type": "Moved"})) == '{"type":"Moved"}'
    assert words.sentence(Entry(NOW, "dreamt", UID, "x")) == '"x"'


def test_every_deed_has_words() -> None:
    """No deed reads as raw data, neither when it begins nor when it ends."""
    unsaid = {"Inspect", "RunProbe", "ReportStatus"}
    kinds = {each.__name__ for each in deeds.Deed.__subclasses__()}
    assert kinds - unsaid == set(words._DECIDED)
    assert kinds - {"Inspect"} == set(words._FINISHED)


def test_a_pod_is_found_by_its_name() -> None:
    """Names come and go; the newest pod is the last one, and events help where the source is not recorded."""
    seen = {"type": "PodSeen", "namespace": "ns", "name": "p"}
    entries = [
        Entry(1, LEARNED, "old", seen),
        Entry(2, LEARNED, "other", seen | {"name": "q"}),
        Entry(3, LEARNED, "new", seen),
        Entry(4, TOLD, "new", {"name": "p"}),
    ]
    assert chain.uids(entries, "ns", "p") == ("old", "new")
    assert chain.uids(entries[3:], "ns", "p") == ("new",)
    assert chain.of_pod(entries, "new") == entries[2:]
