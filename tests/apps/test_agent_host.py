"""What is checked and set before an agent starts, and what it says when that cannot be."""

import asyncio
import json
import logging
import os
import socket
from pathlib import Path

import msgspec
import pytest
from tests.engine.fakes import ManualClock

from flexlet.adapters.systemd import Supervisor
from flexlet.apps.agent import AgentOptions, configuration, host, logs
from flexlet.apps.agent.options import port, resizing
from flexlet.apps.agent.running import pet
from flexlet.core.kubeletconfig.config import KubeletConfiguration, Logging
from flexlet.core.kubeletconfig.reading import merge
from flexlet.errors import ConfigError, HostError

SOURCES = Path(__file__).parents[2] / "src/flexlet"
CREDENTIALS = SOURCES / "apps/nodecredentials.py"
SWAPS = "Filename\tType\tSize\tUsed\tPriority\n/dev/dm-1 partition 1024 0 -2\n"


def test_swap_is_refused_unless_allowed(tmp_path: Path) -> None:
    (tmp_path / "swaps").write_text(SWAPS)
    with pytest.raises(ConfigError, match=r"swap is on \(/dev/dm-1\).*swapoff -a"):
        host.require(KubeletConfiguration(), tmp_path)
    host.require(KubeletConfiguration(fail_swap_on=False), tmp_path)
    (tmp_path / "swaps").write_text(SWAPS.splitlines()[0])
    host.require(KubeletConfiguration(), tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cgroupRoot": "/pods"}, "cgroupRoot: '/pods' is not supported"),
        ({"allowedUnsafeSysctls": ["vm.swappiness"]}, "'vm.swappiness' is not namespaced"),
    ],
)
def test_what_cannot_be_honoured_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        merge(KubeletConfiguration(), given)


def test_sysctls_of_namespaces_are_fine() -> None:
    allowed = ["kernel.msg*", "net.core.somaxconn", "net/ipv4/conf/eth0.100/rp_filter", "fs.mqueue.*"]
    config = merge(KubeletConfiguration(), {"allowedUnsafeSysctls": allowed, "cgroupRoot": "/"})
    assert config.allowed_unsafe_sysctls == tuple(allowed)


def test_the_agent_says_how_willingly_it_dies(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "self").mkdir()
    host.set_oom_score(-999, tmp_path)
    assert (tmp_path / "self/oom_score_adj").read_text() == "-999"
    host.set_oom_score(-999, tmp_path / "nowhere")
    assert "cannot set oomScoreAdj -999 of the agent: No such file or directory; start it as root" in caplog.text


class Tree:
    """Cgroups of which one is there."""

    def __init__(self, present: str, refuses: str = "") -> None:
        self._present = present
        self._refuses = refuses
        self.written: dict[str, dict[str, str]] = {}

    async def exists(self, path: str) -> bool:
        return path == self._present

    async def write(self, path: str, values: dict[str, str]) -> None:
        if self._refuses:
            raise HostError(self._refuses)
        self.written[path] = dict(values)


RESERVED = KubeletConfiguration(
    kube_reserved={"cpu": "1", "memory": "1Gi"},
    kube_reserved_cgroup="/podruntime.slice",
    enforce_node_allocatable=("pods", "kube-reserved-compressible"),
)


async def test_only_cpu_is_enforced_where_only_that_is_asked_for() -> None:
    tree = Tree("podruntime.slice")
    await host.enforce_reservations(RESERVED, tree)  # type: ignore[arg-type]
    assert tree.written == {"podruntime.slice": {"cpu.weight": "39"}}


async def test_nothing_is_enforced_by_default() -> None:
    tree = Tree("podruntime.slice")
    await host.enforce_reservations(KubeletConfiguration(), tree)  # type: ignore[arg-type]
    assert tree.written == {}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Tree("other"), "cannot enforce kube-reserved: there is no cgroup /podruntime.slice"),
        (Tree("podruntime.slice", "no"), "cannot enforce kube-reserved on /podruntime.slice: no"),
    ],
)
async def test_a_cgroup_that_cannot_be_held_is_a_refusal(tree: Tree, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await host.enforce_reservations(RESERVED, tree)  # type: ignore[arg-type]


def test_a_port_may_be_left_to_the_kernel(tmp_path: Path) -> None:
    """The configuration keeps its own; what is bound is what the command line says."""
    options = AgentOptions(kubeconfig=tmp_path, listen=("127.0.0.1", 0))
    config = configuration(options)
    assert (config.address, config.port, port(options, config)) == ("127.0.0.1", 10250, 0)
    named = AgentOptions(kubeconfig=tmp_path, listen=("127.0.0.1", 4711))
    assert configuration(named).port == port(named, configuration(named)) == 4711
    assert port(AgentOptions(kubeconfig=tmp_path), config) == 10250


def test_no_field_of_the_configuration_is_forgotten() -> None:
    """Each is used where the agent is wired, or has only values that ask for nothing."""
    sources = [*SOURCES.glob("apps/agent/*.py"), *SOURCES.glob("core/kubeletconfig/[ut]*.py"), CREDENTIALS]
    text = "".join(path.read_text() for path in sources)
    fields = {field.name for field in msgspec.structs.fields(KubeletConfiguration)}
    assert {name for name in fields if f"config.{name}" not in text} == {
        "cgroup_root",
        "cgroups_per_qos",
        "merge_default_eviction_settings",  # read together with evictionHard
    }


def test_a_shutdown_needs_time(tmp_path: Path) -> None:
    options = AgentOptions(kubeconfig=tmp_path, shutdown_on_sigterm=True)
    with pytest.raises(ConfigError, match="set shutdownGracePeriod in the configuration"):
        configuration(options)


@pytest.mark.parametrize(
    ("settings", "verbose", "level"),
    [
        (Logging(), False, logging.WARNING),
        (Logging(), True, logging.INFO),
        (Logging(verbosity=2), False, logging.INFO),
        (Logging(verbosity=4), False, logging.DEBUG),
    ],
)
def test_verbosity_is_a_level(settings: Logging, verbose: bool, level: int) -> None:
    assert logs.level(settings, verbose=verbose) == level


def test_what_the_agent_does_is_logged_at_any_verbosity() -> None:
    root, ours = logging.getLogger(), logging.getLogger("flexlet")
    before = (root.handlers[:], root.level, ours.level)
    try:
        logs.configure(Logging())
        assert (root.level, ours.level) == (logging.WARNING, logging.INFO)
        logs.configure(Logging(verbosity=4))
        assert (root.level, ours.level) == (logging.DEBUG, logging.DEBUG)
    finally:
        root.handlers[:], level, mine = before
        root.setLevel(level)
        ours.setLevel(mine)


def test_lines_may_be_json() -> None:
    record = logging.LogRecord("flexlet.x", logging.WARNING, "", 0, "so %d", (1,), None)
    record.created = 1.5
    assert json.loads(logs.JsonLines().format(record)) == {
        "ts": 1500.0,
        "logger": "flexlet.x",
        "level": "warning",
        "msg": "so 1",
    }
    try:
        raise ValueError("why")
    except ValueError as error:
        failed = logging.LogRecord("x", logging.ERROR, "", 0, "no", (), (type(error), error, error.__traceback__))
    assert json.loads(logs.JsonLines().format(failed))["err"].endswith("ValueError: why")


def test_two_places_may_lie_on_one_disk(tmp_path: Path) -> None:
    assert host.same_filesystem(tmp_path, tmp_path / "..")
    assert not host.same_filesystem(tmp_path, Path("/proc"))
    assert host.same_filesystem(tmp_path, tmp_path / "nowhere")


def test_systemd_is_told(tmp_path: Path) -> None:
    """By a datagram to the socket it names; without one nobody is told and nothing fails."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        there.bind(address)
        Supervisor({"NOTIFY_SOCKET": address}).tell("READY=1")
        assert there.recv(100) == b"READY=1"
    Supervisor({"NOTIFY_SOCKET": address}).tell("READY=1")
    Supervisor({}).tell("READY=1")


def test_the_watchdog_may_be_meant_for_another() -> None:
    asks = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000"}
    assert Supervisor(asks).watchdog_s == 3.0
    assert Supervisor(asks | {"WATCHDOG_PID": str(os.getpid())}).watchdog_s == 3.0
    assert Supervisor(asks | {"WATCHDOG_PID": "1"}).watchdog_s is None
    assert Supervisor({"NOTIFY_SOCKET": "@x"}).watchdog_s is None


class Told(Supervisor):
    """A watchdog of ten seconds."""

    def __init__(self) -> None:
        super().__init__({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "10000000"})
        self.heard: list[str] = []

    def tell(self, state: str) -> None:
        self.heard.append(state)


class Loop:
    """Goes a round when it is told something, unless it hangs."""

    def __init__(self) -> None:
        self.rounds = 0
        self.hangs = False

    def tell(self, *_: object) -> None:
        self.rounds += not self.hangs


async def test_only_a_loop_that_goes_its_rounds_pets_the_watchdog() -> None:
    clock, told, loop = ManualClock(), Told(), Loop()
    task = asyncio.ensure_future(pet(told, loop, clock))  # type: ignore[arg-type]
    for hangs, pets in ((False, 1), (False, 2), (True, 3), (True, 3), (False, 3), (False, 4)):
        await asyncio.sleep(0.001)
        loop.hangs = hangs
        clock.advance(5)
        await asyncio.sleep(0.001)
        assert told.heard == ["WATCHDOG=1"] * pets
    task.cancel()


@pytest.mark.parametrize(("is_guest", "policy"), [(False, "auto"), (True, "none")])
def test_parts_of_somebodys_own_machine_are_left_offline(tmp_path: Path, is_guest: bool, policy: str) -> None:
    options = AgentOptions(kubeconfig=tmp_path, is_guest=is_guest)
    assert resizing(options, KubeletConfiguration()).online_policy == policy
