import msgspec
import pytest
from tests.core.managers.cpu.grounds import cpus, ground, machine

from flexlet.core import gates
from flexlet.core.managers.cpu.options import check, check_lasting, read_options
from flexlet.core.managers.cpu.static import reserved
from flexlet.core.managers.settings import SINGLE_NUMA_NODE, ManagerSettings
from flexlet.errors import ConfigError

ALL_ON = gates.switch({"CPUManagerPolicyAlphaOptions": True})


def test_options_that_are_true_count() -> None:
    said = {"full-pcpus-only": "true", "strict-cpu-reservation": "0", "distribute-cpus-across-numa": "T"}
    chosen = frozenset({"full-pcpus-only", "distribute-cpus-across-numa"})
    assert read_options("static", said, gates.switch({})) == chosen
    assert read_options("none", {}, gates.switch({})) == frozenset()


@pytest.mark.parametrize(
    ("policy", "options", "switched", "words"),
    [
        ("none", {"b": "x", "a": "true"}, {}, "None policy: received unsupported options=map[a:true b:x]"),
        ("static", {"fast": "true"}, {}, 'unknown CPU Manager Policy option: "fast"'),
        (
            "static",
            {"align-by-socket": "false"},
            {},
            'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
        ),
        (
            "static",
            {"distribute-cpus-across-numa": "true"},
            {"CPUManagerPolicyBetaOptions": False},
            'CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided',
        ),
        (
            "static",
            {"full-pcpus-only": "yes"},
            {},
            'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
        ),
    ],
)
def test_what_cannot_be_used(policy: str, options: dict[str, str], switched: dict[str, bool], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_options(policy, options, gates.switch(switched))
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("full-pcpus-only", "distribute-cpus-across-cores"),
        ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
    ],
)
def test_options_that_exclude_each_other(one: str, other: str) -> None:
    words = f"static policy options {one} and {other} can not be used at the same time"
    with pytest.raises(ConfigError, match=words):
        read_options("static", {one: "true", other: "true"}, ALL_ON)
    with pytest.raises(ConfigError, match=words):
        check(ground(machine(4), one, other).settings, machine(4))
    assert read_options("static", {one: "true", other: "false"}, ALL_ON) == {one}


def test_sockets_need_numa_nodes_to_align_with() -> None:
    two_on_one = machine(2, 1, 2, nodes=1)
    with pytest.raises(
        ConfigError, match="Align by socket is not compatible with hardware where number of sockets"
    ):
        check(ground(two_on_one, "align-by-socket").settings, two_on_one)
    single = msgspec.structs.replace(
        ground(machine(4), "align-by-socket").settings, topology_policy=SINGLE_NUMA_NODE
    )
    words = "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    with pytest.raises(ConfigError, match=words):
        check(single, machine(4))
    check(ground(machine(4), "align-by-socket").settings, machine(4))


def test_a_reservation_is_needed() -> None:
    words = r"\[cpumanager\] the static policy requires systemreserved.cpu \+ kubereserved.cpu to be greater than"
    with pytest.raises(ConfigError, match=words):
        reserved(ground(machine(4), reserve=0))
    with pytest.raises(
        ConfigError, match=r"\[cpumanager\] unable to reserve the required amount of CPUs \(size of"
    ):
        reserved(ground(machine(4), reserve=5))
    assert reserved(ground(machine(4), reserve=0, named="2")) == cpus("2")


def test_named_cpus_must_be_there_at_first_and_may_go_later() -> None:
    here = ground(machine(4), named="3-4")
    with pytest.raises(ConfigError, match=r"^reserved-cpus: 3-4 is not a subset of online-cpus: 0-3$"):
        check(here.settings, here.machine)
    check_lasting(here.settings, here.machine)


def test_policies_are_known_by_name() -> None:
    with pytest.raises(ConfigError, match='unknown policy: "dynamic"; write none or static'):
        check(ManagerSettings(cpu_policy="dynamic"), machine(4))
    check(ManagerSettings(reserved_cpus=cpus("9")), machine(4))
