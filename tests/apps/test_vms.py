"""The controller of FlexVMs as it is wired: installed, beside others, and where nobody knows the kind."""

import logging

import pytest

from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apps import vms
from flexlet.core.vm import names
from flexlet.ports.cluster import Ref
from flexlet.testing.cluster import serving
from flexlet.testing.simtime import SimClock, run


def test_the_kinds_are_installed_once_and_brought_up_to_date() -> None:
    async def story() -> None:
        async with serving(SimClock()) as sim:
            await Definitions(sim.rest, sim.cluster, sim.clock).load()
            for _ in range(2):
                await vms.install(sim.cluster)
            for ref in (names.FLEX_VMS, names.MIGRATIONS):
                assert (await sim.cluster.list(Ref(*ref))).items == ()
            assert await vms.has_kinds(sim.cluster)

    run(story())


def test_a_cluster_without_the_kind_is_told_how_to_get_it(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with serving(SimClock()) as sim:
            assert not await vms.has_kinds(sim.cluster)

    with caplog.at_level(logging.WARNING):
        run(story())
    assert "install it with `flexlet print-manifests | kubectl apply -f -` and start again" in caplog.text
