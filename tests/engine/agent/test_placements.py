"""What the resource managers were asked for is counted, and what they have is shown."""

from msgspec.structs import replace
from tests.core.agent.builders import NOW
from tests.core.agent.managed import SETTINGS, admitted, arrived, machine, managed, own, sharing
from tests.engine.agent.test_counting import values

from flexlet.adapters.meters import Ledger
from flexlet.api.pod import ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.core.agent import household
from flexlet.core.agent.world import World
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.managers.settings import ManagerSettings
from flexlet.engine.agent.counting import Counting
from flexlet.engine.agent.gauges import Gauges


def counted(world: World, meters: Ledger | None = None) -> dict[str, float]:
    """The managers' counters after everybody at the door was asked."""
    found = meters or Ledger()
    Counting(found).settled(world, household.settle(world, NOW))
    return {name: value for name, value in values(found).items() if "_manager_" in name and value}


def test_containers_that_ask_for_cpus_of_their_own_are_counted() -> None:
    assert counted(arrived(managed(), own("a", 2), sharing("s"))) == {
        "kubelet_topology_manager_admission_requests_total{}": 2,
        "kubelet_cpu_manager_pinning_requests_total{}": 1,
    }


def test_refusals_are_counted_by_who_refused() -> None:
    full = admitted(managed(), own("a", 2))
    assert counted(arrived(full, own("b", 2))) == {
        "kubelet_topology_manager_admission_requests_total{}": 1,
        "kubelet_cpu_manager_pinning_requests_total{}": 1,
        "kubelet_cpu_manager_pinning_errors_total{}": 1,
    }
    aligned = managed(replace(SETTINGS, topology_policy="single-numa-node"), machine(8, 2))
    assert counted(arrived(aligned, own("a", 5))) == {
        "kubelet_topology_manager_admission_requests_total{}": 1,
        "kubelet_topology_manager_admission_errors_total{}": 1,
    }


def test_memory_is_counted_where_it_is_managed() -> None:
    reserved = {"memory": Quantity.parse("1Gi")}
    settings = ManagerSettings(
        memory_policy="Static",
        reserved_memory={0: {"memory": 1 << 30}},
        reservation=Reservation(system=reserved, eviction_hard={}),
    )
    large = own("a")
    resources = ResourceRequirements(requests={"memory": Quantity.parse("7168Mi")})
    huge = replace(large.spec.containers[0], resources=resources)
    before = managed(settings)
    assert counted(arrived(before, large)) == {
        "kubelet_topology_manager_admission_requests_total{}": 1,
        "kubelet_memory_manager_pinning_requests_total{}": 1,
    }
    crowd = replace(
        large, spec=replace(large.spec, containers=(large.spec.containers[0], replace(huge, name="d")))
    )
    assert counted(arrived(before, crowd)) == {
        "kubelet_topology_manager_admission_requests_total{}": 1,
        "kubelet_memory_manager_pinning_requests_total{}": 2,
        "kubelet_memory_manager_pinning_errors_total{}": 1,
    }


def test_a_node_that_manages_nothing_counts_nothing() -> None:
    assert counted(arrived(managed(replace(SETTINGS, cpu_policy="none")), own("a"))) == {}


class Standing:
    """A loop and a watch that stand still."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rounds = self.late_rounds = 0
        self.longest_round_s = self.last_look_at = 0.0


def shown(world: World) -> dict[str, float]:
    meters, still = Ledger(), Standing(world)
    Gauges(meters, still, still).refresh()  # type: ignore[arg-type]
    return {
        name: value for name, value in values(meters).items() if name.startswith("kubelet_cpu_manager") and value
    }


def test_cpus_are_shown_as_they_are_now() -> None:
    """Those that are reserved are in nobody's pool."""
    world = admitted(managed(on=machine(8, 2)), own("a", 5))
    assert shown(world) == {
        "kubelet_cpu_manager_exclusive_cpu_allocation_count{}": 5,
        "kubelet_cpu_manager_shared_pool_size_millicores{}": 2000,
        "kubelet_cpu_manager_allocation_per_numa{0}": 1,
        "kubelet_cpu_manager_allocation_per_numa{1}": 4,
    }
    assert shown(managed(replace(SETTINGS, cpu_policy="none"))) == {}
