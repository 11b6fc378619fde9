"""``flexlet vm start|stop|restart|migrate`` against a server and a controller that says what it shall."""

import json
from collections.abc import Iterator

import pytest
from tests.cli.conftest import Api, Command
from tests.cli.machines import FLEX_VMS, MIGRATIONS, answered, made, running, taught

from flexlet.core.vm import names

pytestmark = pytest.mark.slow

DONE, FAILED, USAGE = 0, 1, 2


@pytest.fixture(scope="module")
def cluster(api: Api) -> Api:
    taught(api)
    return api


@pytest.fixture
def db(cluster: Api) -> Iterator[Api]:
    made(cluster)
    running(cluster)
    yield cluster
    cluster.delete(FLEX_VMS, "db", "default")
    for item in cluster.do(lambda api: api.list(MIGRATIONS, "default")).items:
        cluster.delete(MIGRATIONS, json.loads(item)["metadata"]["name"], "default")


READY = {"printableStatus": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def test_stop_and_start(db: Api, flexlet: Command) -> None:
    with answered(db, FLEX_VMS, "db", {"printableStatus": "Stopping"}, {"printableStatus": "Stopped"}):
        code, printed, talk = flexlet("vm", "stop", "db")
    assert (code, printed, talk.splitlines()[-1]) == (DONE, "", "db: Stopped")
    assert db.get(FLEX_VMS, "db", "default")["spec"]["runStrategy"] == "Halted"
    with answered(db, FLEX_VMS, "db", READY):
        assert flexlet("vm", "start", "db")[0] == DONE
    assert db.get(FLEX_VMS, "db", "default")["spec"]["runStrategy"] == "Always"
    words = "db: asked for; `flexlet get vms -n default` shows how far it is\n"
    assert flexlet("vm", "restart", "db", "--no-wait") == (DONE, "", words)
    assert db.get(FLEX_VMS, "db", "default")["metadata"]["annotations"][names.POWER].startswith("Restart@")


def test_a_switch_that_nobody_obeys(db: Api, flexlet: Command) -> None:
    del db
    code, _, talk = flexlet("vm", "stop", "db", "--timeout", "0.3")
    assert code == FAILED
    assert talk.splitlines()[-1] == (
        "db: failed (Timeout): not done within 0.3 s: Pending: the controllers have not looked at it yet"
    )


MOVED = {
    "phase": "Succeeded",
    "sourceNode": "n1",
    "targetNode": "n2",
    "transferredBytes": 3 << 30,
    "totalMilliseconds": 8400,
    "downtimeMilliseconds": 120,
}


def test_a_move(db: Api, flexlet: Command) -> None:
    with answered(db, MIGRATIONS, "db-", {"phase": "Running", "message": "1Gi of 3Gi"}, MOVED):
        code, printed, _ = flexlet("vm", "migrate", "db", "--node", "n2")
    assert (code, printed) == (DONE, "db  n1 -> n2: 3Gi copied in 8.4 s, paused for 120 ms\n")
    (item,) = db.do(lambda api: api.list(MIGRATIONS, "default")).items
    assert json.loads(item)["spec"] == {"vmName": "db", "nodeName": "n2"}


def test_a_move_that_fails(db: Api, flexlet: Command) -> None:
    with answered(db, MIGRATIONS, "db-", {"phase": "Failed", "message": "the target has no room"}):
        code, printed, talk = flexlet("vm", "migrate", "db", "-o", "json")
    assert (code, talk.splitlines()[-1]) == (FAILED, "db: failed (MigrationFailed): the target has no room")
    assert json.loads(printed)["status"]["phase"] == "Failed"


@pytest.mark.parametrize("command", ["console", "migrate"])
def test_a_machine_that_does_not_run(db: Api, flexlet: Command, command: str) -> None:
    running(db, pod=None, printableStatus="Stopped")
    code, _, talk = flexlet("vm", command, "db")
    assert (code, talk.partition(":")[2].strip().partition(":")[0]) == (
        FAILED,
        "VM db does not run (it is Stopped)",
    )
    assert flexlet("vm", command, "nix")[::2] == (
        FAILED,
        "error: there is no VM nix in namespace default: there are db\n",
    )
