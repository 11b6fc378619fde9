"""The GuestLinks port's contract: a launcher around QEMU as recorded, and the simulated one, answer alike."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.adapters.launcher.stage import SMALL, guest, launched

from flexlet.adapters.sim.launcher import SimLaunchers
from flexlet.adapters.sim.launchertemper import Temper
from flexlet.adapters.vmlink.socket import SocketLinks
from flexlet.api.status import NotFound, Status
from flexlet.api.units import GIB
from flexlet.core.vm import names
from flexlet.ports.vmguest import GuestLink, GuestLinks
from flexlet.testing.checks import Check
from flexlet.testing.guest_checks import CHECKS, GuestBench, Manner
from flexlet.testing.simtime import SimClock, run

KEPT = {"": {}, "keeps-vcpu": {"keeps": "vcpu-1-0-0"}, "keeps-memory": {"keeps": "vmem0"}}
TEMPERS: dict[str, Callable[[], Temper]] = {
    "": Temper,
    "keeps-vcpu": lambda: Temper(pinned={1}),
    "keeps-memory": lambda: Temper(keeps=GIB),
}


Deed = Callable[[], Coroutine[Any, Any, None]]


class Lines:
    """Lines to the pod ``db``; there is no other."""

    def __init__(self, links: GuestLinks, manner: Manner, reboot: Deed, release: Deed) -> None:
        self.manner = manner
        self.reboot = reboot
        self.release = release
        self._links = links

    def open(self) -> AbstractAsyncContextManager[GuestLink]:
        return self._links.open("default", "db")

    def open_nowhere(self) -> AbstractAsyncContextManager[GuestLink]:
        return self._links.open("default", "nobody")


class OnePod:
    """As much of a cluster as a simulated launcher looks at."""

    async def get(self, _: object, namespace: str, name: str) -> bytes:
        if name != "db":
            raise NotFound(Status(message=f"pods {name!r} not found"))
        annotations = {names.MACHINE: msgspec.json.encode(SMALL).decode()}
        metadata = {"name": name, "namespace": namespace, "uid": "u1", "annotations": annotations}
        return msgspec.json.encode({"metadata": metadata, "status": {"phase": "Running", "podIP": "10.0.0.1"}})

    async def patch(self, *_: Any, **__: Any) -> bytes:
        return b"{}"


@contextlib.asynccontextmanager
async def real(manner: Manner, folder: Path) -> AsyncIterator[GuestBench]:
    async with launched(folder, guest(SMALL, **KEPT[manner]), "default-db") as it:
        links = SocketLinks(lambda namespace, pod: folder / f"{namespace}-{pod}" / "control.sock")
        yield Lines(links, manner, lambda: it.type("reboot"), lambda: it.type("release"))


@pytest.mark.parametrize(("manner", "check"), CHECKS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_launcher_of_this_host(manner: Manner, check: Check[GuestBench], tmp_path: Path) -> None:
    async with real(manner, tmp_path) as bench:
        await check(bench)


@pytest.mark.parametrize(("manner", "check"), CHECKS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_simulated_launcher(manner: Manner, check: Check[GuestBench]) -> None:
    async def story() -> None:
        launchers = SimLaunchers(OnePod(), SimClock(), TEMPERS[manner]())  # type: ignore[arg-type]

        async def reboot() -> None:
            launchers.reset("default", "db")

        async def release() -> None:
            found = launchers.guest("default", "db")
            assert found is not None
            found.temper.keeps = 0

        await asyncio.ensure_future(check(Lines(launchers, manner, reboot, release)))

    run(story())
