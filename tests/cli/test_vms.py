"""``flexlet get vms``, ``resize vm``, ``explain vm`` against a server and a controller that says what it shall."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Api, Command, Json
from tests.cli.machines import FLEX_VMS, answered, launcher, made, running, taught
from tests.core.sizes.vmkit import RUNNING

from flexlet.core.vm import names
from flexlet.ports.cluster import NODES, PODS

pytestmark = pytest.mark.slow

DONE, FAILED, USAGE, REFUSED = 0, 1, 2, 3


@pytest.fixture(scope="module")
def cluster(api: Api) -> Api:
    """A node of 4 CPUs and 16Gi, and the kinds of machines."""
    taught(api)
    api.node("n1", {"cpu": "4", "memory": "16Gi"})
    return api


@pytest.fixture
def db(cluster: Api) -> Iterator[Api]:
    """The machine `db`, which runs and has what it wants."""
    made(cluster)
    running(cluster)
    launcher(cluster)
    yield cluster
    cluster.delete(PODS, "virt-launcher-db", "default")
    cluster.delete(FLEX_VMS, "db", "default")


def domain(api: Api) -> Json:
    found: Json = api.get(FLEX_VMS, "db", "default")["spec"]["template"]["spec"]["domain"]
    return found


BIG_POD = {"cpu": "800m", "memory": "16760Mi"}
BIG: Json = {
    "currentCPUTopology": {"sockets": 8, "cores": 1, "threads": 1},
    "memory": {"guestAtBoot": "8Gi", "guestCurrent": "16Gi", "guestRequested": "16Gi"},
    "pod": {"name": "virt-launcher-db", "desired": BIG_POD, "allocated": BIG_POD, "actual": BIG_POD},
}
GROWING = {"resize": {"phase": "PodGrowing", "message": "pod to cpu 800m"}}
PLUGGING = {"resize": {"phase": "GuestChanging", "message": "4 of 8 vCPUs"}}
TOLD = ["PodGrowing: pod to cpu 800m", "GuestChanging: 4 of 8 vCPUs"]
RESIZED = BIG | {"resize": {"phase": "Done", "message": ""}}
TABLE = """\
NAME  STATUS   NODE  VCPUS   MEMORY  POD CPU  POD MEMORY  RESIZE
db    Running  n1    4 -> 6  8Gi     0.4      8.32Gi      Idle
"""


def test_machines_in_a_table(db: Api, flexlet: Command) -> None:
    assert flexlet("resize", "vm", "db", "--vcpus", "6", "--no-wait") == (
        DONE,
        "",
        "db: asked for; `flexlet get vms -n default` shows how far it is\n",
    )
    assert domain(db)["cpu"] == {"sockets": 6, "maxSockets": 16, "limitPolicy": "None"}
    assert flexlet("get", "vms") == (DONE, TABLE, "")
    assert flexlet("get", "vms", "-A")[1].split()[0] == "NAMESPACE"
    assert flexlet("get", "vms", "-n", "empty") == (DONE, "", "there are no VMs in namespace empty\n")
    (found,) = json.loads(flexlet("get", "vms", "-o", "json")[1])
    assert (found["vcpus"], found["memory"]) == ({"now": 4, "wanted": 6}, {"now": "8Gi", "wanted": "8Gi"})


def test_what_needs_a_restart_is_not_done(db: Api, flexlet: Command) -> None:
    running(db, conditions=RESTART["conditions"], resize={"phase": "Done"})
    flexlet("resize", "vm", "db", "--vcpus", "20", "--no-wait")
    row = flexlet("get", "vms")[1].splitlines()[1]
    assert row == f"db    Running  n1    4 -> 20  8Gi     0.4      8.32Gi      RestartRequired: {HIGHER}"


def test_a_machine_grows_with_progress(db: Api, flexlet: Command) -> None:
    with answered(db, FLEX_VMS, "db", GROWING, PLUGGING, RESIZED):
        code, printed, talk = flexlet("resize", "vm", "db", "--vcpus", "8", "--memory", "16Gi")
    assert code == DONE, talk
    assert printed == (
        "db  guest  vcpus 4 -> 8    memory 8Gi -> 16Gi\ndb  pod    cpu 0.4 -> 0.8  memory 8.32Gi -> 16.37Gi\n"
    )
    told = [line.split("  ")[-1] for line in talk.splitlines()]
    phases = ["Pending: the controllers have not looked at it yet", *TOLD]
    assert told == [phase for phase in phases if phase in told]  # one that was over too soon may be missed
    assert (domain(db)["cpu"]["sockets"], domain(db)["memory"]["guest"]) == (8, "16Gi")


NO_ROOM = {"resize": {"phase": "PodDeferred", "message": "node n1 lacks 2Gi"}}
QUOTA = "exceeded quota: team, requested: requests.memory=8240Mi"
OVER = {"resize": {"phase": "Failed", "message": QUOTA, "setbacks": [{"reason": "QuotaExceeded"}]}}
HIGHER = "CPU sockets updated in template spec to a value higher than what's available"
RESTART = {"conditions": [{"type": "RestartRequired", "status": "True", "message": HIGHER}]}
PARTLY = {"type": "PartiallyResized", "status": "True", "reason": "UnplugPartial", "message": "5.5Gi of 4Gi"}
BROKEN = {"resize": {"phase": "Failed", "message": "no slot", "setbacks": [{"reason": "PlugFailed"}]}}


@pytest.mark.parametrize(
    ("answer", "code", "line"),
    [
        (NO_ROOM, REFUSED, "db: refused (Deferred): node n1 lacks 2Gi"),
        (OVER, REFUSED, f"db: refused (QuotaExceeded): {QUOTA}"),
        (RESTART, REFUSED, f"db: refused (RestartRequired): {HIGHER}"),
        (
            {"resize": {"phase": "Done"}, "conditions": [PARTLY]},
            REFUSED,
            "db: refused (UnplugPartial): 5.5Gi of 4Gi",
        ),
        (BROKEN, FAILED, "db: failed (PlugFailed): no slot"),
    ],
)
def test_an_end_that_was_not_wanted(db: Api, flexlet: Command, answer: Json, code: int, line: str) -> None:
    with answered(db, FLEX_VMS, "db", answer):
        found = flexlet("resize", "vm", "db", "--vcpus", "8", "--deadline", "0")
    assert (found[0], found[1], found[2].splitlines()[-1]) == (code, "", line)


def test_a_resize_that_waits_for_room_may_still_find_some(db: Api, flexlet: Command) -> None:
    with answered(db, FLEX_VMS, "db", NO_ROOM, RESIZED):
        code, printed, _ = flexlet("resize", "vm", "db", "--vcpus", "8", "-o", "json")
    assert (code, json.loads(printed)["result"]) == (DONE, "Done")


def test_without_controllers_the_wait_ends(db: Api, flexlet: Command) -> None:
    del db
    code, _, talk = flexlet("resize", "vm", "db", "--vcpus", "8", "--timeout", "0.5", "--deadline", "0")
    assert code == FAILED
    assert talk.splitlines()[-1] == (
        "db: failed (Timeout): not done within 0.5 s: Pending: the controllers have not looked at it yet;"
        " is `flexlet controllers` running?"
    )


PLAN = """\
db  1.  pod    cpu 400m -> 800m, memory 8520Mi -> 8552Mi
db  2.  guest  vcpus 4 -> 8
db  3.  pod    memory 8552Mi -> 16760Mi
db  4.  guest  memory 8Gi -> 16Gi
"""


ASSUMED = (
    "settings assumed: vmRolloutStrategy LiveUpdate, maxHotplugRatio 4, cpuAllocationRatio 10,"
    " memoryOvercommit 100; if the controllers run with others, name their file with --vm-config\n"
)


def test_a_plan(db: Api, flexlet: Command) -> None:
    """Exit code 3 if some of it would not be done at once; nothing is changed."""
    code, printed, talk = flexlet("resize", "vm", "db", "--vcpus", "8", "--memory", "16Gi", "--dry-run")
    lacks = "db: Deferred: memory: the pod needs 8.047Gi more, and its node has 7.68Gi free\n"
    assert (code, printed, talk) == (REFUSED, PLAN, ASSUMED + lacks)
    assert flexlet("resize", "vm", "db", "--vcpus", "8", "--dry-run") == (
        DONE,
        "".join(PLAN.splitlines(keepends=True)[:2]),
        ASSUMED,
    )
    assert flexlet("resize", "vm", "db", "--vcpus", "20", "--dry-run")[::2] == (
        REFUSED,
        f"{ASSUMED}db: RestartRequired: {HIGHER}\n",
    )
    found = json.loads(flexlet("resize", "vm", "db", "--memory", "4Gi", "--dry-run", "-o", "json")[1])
    assert (found["verdict"], [step["what"] for step in found["steps"]]) == ("InPlace", ["guest", "pod"])
    assert flexlet("resize", "vm", "db", "--vcpus", "4", "--dry-run") == (
        DONE,
        "",
        f"{ASSUMED}db: it has this size\n",
    )
    assert domain(db)["cpu"]["sockets"] == 4


def test_a_plan_with_the_settings_of_the_controllers(db: Api, flexlet: Command, tmp_path: Path) -> None:
    del db
    file = tmp_path / "vms.yaml"
    file.write_text("apiVersion: vm.flexlet.io/v1alpha1\nkind: FlexletConfig\ncpuAllocationRatio: 5\n")
    asked = ("resize", "vm", "db", "--vcpus", "8", "--dry-run", "--vm-config", str(file))
    code, printed, talk = flexlet(*asked)
    assert (code, printed.splitlines()[0], talk.partition(": ")[0]) == (
        DONE,
        "db  1.  pod    cpu 800m -> 1600m, memory 8520Mi -> 8552Mi",
        f"settings of {file}",
    )
    file.write_text("apiVersion: vm.flexlet.io/v1alpha1\nkind: FlexletConfig\nvmRolloutStrategy: Stage\n")
    code, _, talk = flexlet(*asked)
    assert (code, talk.splitlines()[-1].split(": ")[:2]) == (REFUSED, ["db", "RestartRequired"])


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("db",), USAGE, "Error: say how big: --vcpus N, --memory SIZE, or both"),
        (("db", "--vcpus", "0"), USAGE, None),
        (("nix", "--vcpus", "1"), FAILED, "error: there is no VM nix in namespace default: there are db"),
        (("db", "--memory", "8193Mi"), REFUSED, "Guest memory must be 2Mi aligned: use 8Gi or 8194Mi"),
    ],
)
def test_what_cannot_be_done_is_said(
    db: Api, flexlet: Command, words: tuple[str, ...], code: int, complaint: str | None
) -> None:
    del db
    found = flexlet("resize", "vm", *words)
    assert (found[0], found[1]) == (code, "")
    assert complaint is None or complaint in found[2].splitlines()[-1]


STORY = """\
Name:       default/db
Wanted:     8 vCPUs, 16Gi; runStrategy Always, fallback Wait
Started:    room for 16 vCPUs, and memory from 4Gi to 16Gi
Pod needs:  cpu 800m, memory 16760Mi
  memory beside the guest's: 376Mi (page tables 32Mi, virt-launcher-monitor 25Mi, virt-launcher 100Mi,\
 virtlogd 25Mi, virtqemud 40Mi, qemu 50Mi, vCPUs 64Mi, I/O thread 8Mi, graphics 32Mi)
Pod:        virt-launcher-db on n1
  asked for: cpu 800m, memory 16760Mi
  granted:   cpu 800m, memory 8552Mi
  in force:  cpu 800m, memory 8552Mi
Guest:      8 vCPUs, 8Gi; started with 8Gi
Resize:     Grow PodDeferred: node n1 lacks room
  memory held at 8Gi: Deferred: no room
Waits for:  room on node n1: memory 8.016Gi more, of which 7.68Gi are free
  Ready=True
  ResizeInProgress=True PodDeferred: waits
"""


def test_why_a_machine_is_as_big_as_it_is(db: Api, flexlet: Command) -> None:
    flexlet("resize", "vm", "db", "--vcpus", "8", "--memory", "16Gi", "--no-wait")
    small = {"cpu": "800m", "memory": "8552Mi"}
    setback = {"resource": "memory", "reason": "Deferred", "message": "no room", "held": "8Gi"}
    running(
        db,
        **BIG
        | {
            "memory": RUNNING["memory"],
            "pod": {"name": "virt-launcher-db", "desired": BIG_POD, "allocated": small, "actual": small},
            "resize": {
                "phase": "PodDeferred",
                "direction": "Grow",
                "message": "node n1 lacks room",
                "setbacks": [setback],
            },
            "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "ResizeInProgress", "status": "True", "reason": "PodDeferred", "message": "waits"},
            ],
        },
    )
    assert flexlet("explain", "vm/db") == (DONE, STORY, "")
    uid = db.get(FLEX_VMS, "db", "default")["metadata"]["uid"]
    about = {"kind": names.KIND, "name": "db", "namespace": "default", "uid": uid}
    db.event(about, "PodResizeDeferred", "node n1 lacks room", "2026-01-01T00:00:00Z", "Warning")
    sizes = {"requests": {"cpu": "800m", "memory": "8552Mi"}}
    others = [{"name": "copy", "resources": {}}]
    asked = {"initContainers": others, "containers": [{"name": "compute", "resources": sizes}], "generation": 2}
    pod = {"kind": "Pod", "name": "virt-launcher-db", "namespace": "default"}
    text = f"Pod resize started: {json.dumps(asked)}"
    db.event(pod, "ResizeStarted", text, "2026-01-01T00:00:01Z")
    told = flexlet("explain", "vm/db")[1].splitlines()[-3:]
    assert [line.split(maxsplit=1)[1].split("  ") for line in told] == [
        ["TYPE", "", " REASON", "", "", "", "", "", " MESSAGE"],
        ["Warning", "PodResizeDeferred", "node n1 lacks room"],
        ["Normal", " ResizeStarted", "", "", "Pod resize started: cpu 800m, memory 8552Mi"],
    ]
    found = json.loads(flexlet("explain", "vm/db", "-o", "json")[1])
    assert found["overhead"]["page tables"] == 32 << 20
    assert (found["waitsFor"], found["need"]["memory"]) == (
        "room on node n1: memory 8.016Gi more, of which 7.68Gi are free",
        16760 << 20,
    )


def test_a_machine_that_does_not_run_is_explained(cluster: Api, flexlet: Command) -> None:
    made(cluster, "off", runStrategy="Halted")
    cluster.patch(FLEX_VMS, "off", {"status": {"printableStatus": "Stopped"}}, "default", subresource="status")
    code, printed, _ = flexlet("explain", "vm/off")
    cluster.delete(FLEX_VMS, "off", "default")
    lines = printed.splitlines()
    assert (code, lines[1], lines[-3:]) == (
        DONE,
        "Wanted:     4 vCPUs, 8Gi; runStrategy Halted, fallback Wait",
        ["Guest:      Stopped; nobody has said how big it is", "Resize:     Idle", "Waits for:  nothing"],
    )
    assert flexlet("explain", "vm/nix")[::2] == (
        FAILED,
        "error: there is no VM nix in namespace default: there are no VMs\n",
    )
    assert cluster.get(NODES, "n1")["metadata"]["name"] == "n1"
