"""What is plugged and unplugged again leaves no trace."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import campaign
from tests.engine.agent.resizing import rig
from tests.engine.agent.resizing.happenings import configs
from tests.engine.agent.world import amounts, is_ready, pod, world

from flexlet.api.units import GIB, MIB
from flexlet.testing import idle, run
from flexlet.testing.host import SimHost

Json = dict[str, Any]

PODS: Final[Json] = {
    "own": {"containers": {"a": amounts("1,256Mi", "1,256Mi"), "b": amounts("200m,64Mi", "200m,64Mi")}},
    "burst": {"containers": {"a": amounts("500m,1Gi", "1,2Gi"), "b": amounts("100m,64Mi", "")}},
    "none": {"containers": {"a": {}}},
    "critical": {"containers": {"a": amounts("100m,64Mi", "")}, "priority": 2_000_000_000},
    "balloon": {"containers": {"a": amounts("100m,128Mi", "100m,128Mi")}} | rig.BALLOON,
}


class Plug(msgspec.Struct, frozen=True):
    """What comes and goes, together or one after the other."""

    cpus: frozenset[int]
    blocks: int
    swap: int
    pages: int
    at_once: bool

    def steps(self, host: SimHost) -> list[Any]:
        """All that there is to plug."""
        return [
            lambda: host.plug_cpus(self.cpus),
            *([lambda: host.plug_memory(self.blocks * 512 * MIB)] if self.blocks else []),
            lambda: host.swapon(self.swap * GIB),
            lambda: host.set_hugepages(2 * MIB, self.pages),
        ]

    def back(self, host: SimHost) -> list[Any]:
        """And to unplug, in the same order."""
        return [
            lambda: host.unplug_cpus(self.cpus),
            *([lambda: host.unplug_memory(self.blocks * 512 * MIB)] if self.blocks else []),
            lambda: swap_again(host),
            lambda: host.set_hugepages(2 * MIB, 0),
        ]


def swap_again(host: SimHost) -> None:
    """As much as at first: only all of it goes."""
    host.swapoff()
    host.swapon(4 * GIB)


plugs: Final = st.builds(
    Plug,
    st.frozensets(st.integers(4, 11), max_size=8),
    st.integers(0, 20),
    st.integers(0, 6),
    st.sampled_from((0, 64, 200)),
    st.booleans(),
)


async def pictured(plug: Plug, config: Json, directory: Path) -> list[Json]:
    """The node before and after."""
    async with world(directory, rig.machine(config=config)) as there:
        there.let_through("Priority")
        manifest = {"apiVersion": "v1", "kind": "Pod"} | pod("static", {"a": amounts("100m,64Mi", "")})
        there.node.manifests.write("/m/static.yaml", manifest)
        uids = {name: await there.create(name, **fields) for name, fields in PODS.items()}
        for name in uids:
            await there.until(name, is_ready)
        host = there.node.options.hardware
        assert host is not None
        seen = []
        for steps in ([], plug.steps(host), plug.back(host)):
            for step in steps:
                step()
                await asyncio.sleep(0 if plug.at_once else 15)
            await asyncio.sleep(30)
            await rig.rested(there)
            await idle()
            seen.append(await rig.picture(there, uids))
        return [seen[0], seen[-1]]


def leaves_no_trace(plug: Plug, config: Json) -> None:
    with tempfile.TemporaryDirectory() as directory:
        before, after = run(pictured(plug, config, Path(directory)))
    assert after == before


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(plugs, configs)
def test_what_goes_again_leaves_no_trace(plug: Plug, config: Json) -> None:
    """Every file of every cgroup, every score, the books, the Node and the status of all pods."""
    leaves_no_trace(plug, config)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=campaign.length(30, 200), deadline=None)
@given(plugs, configs)
def test_whatever_goes_again_leaves_no_trace(plug: Plug, config: Json) -> None:
    """The same, for many more."""
    leaves_no_trace(plug, config)
