import pytest

from flexlet.core.machine import controllers
from flexlet.core.machine.machine import Cgroups
from flexlet.errors import ConfigError


def test_cgroup_v2_with_its_controllers_will_do() -> None:
    controllers.check(Cgroups(unified=True, controllers=frozenset({"cpu", "cpuset", "memory", "pids", "io"})))


@pytest.mark.parametrize(
    ("cgroups", "message"),
    [
        (Cgroups(), "this host is on cgroup v1, .* boot with systemd.unified_cgroup_hierarchy=1"),
        (Cgroups(unified=True, controllers=frozenset({"cpu", "pids"})), "lacks cpuset, memory .* cgroup_disable"),
    ],
)
def test_what_cannot_work_is_refused_with_a_remedy(cgroups: Cgroups, message: str) -> None:
    """The agent does not start where limits would be ignored."""
    with pytest.raises(ConfigError, match=message):
        controllers.check(cgroups)
