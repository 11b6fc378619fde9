"""Lines to launchers are opened, fed, opened again and closed as the decider says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from flexlet.core.faults import Faults
from flexlet.core.vm.decider import Launcher
from flexlet.core.vm.guest import Order, PowerDown, Report, SetSize
from flexlet.engine.vm.keeper import LOOP, LinkKeeper
from flexlet.errors import HypervisorGone
from flexlet.testing.simtime import SimClock, idle, run

DB = Launcher("default", "virt-launcher-db", "u1", "n1")
WEB = Launcher("default", "virt-launcher-web", "u2", "n1")
ODD = 13
"""So many CPUs no decider can handle."""


class FakeDecider:
    """Says what it is told to say, and writes down what it learns."""

    def __init__(self) -> None:
        self.on_order: Callable[[], None] = lambda: None
        self.wanted: set[Launcher] = set()
        self.orders: list[tuple[Launcher, Order]] = []
        self.learned: list[tuple[str, int]] = []
        self.lost: list[tuple[str, float]] = []

    def launchers(self) -> frozenset[Launcher]:
        return frozenset(self.wanted)

    def take_orders(self) -> list[tuple[Launcher, Order]]:
        taken, self.orders = self.orders, []
        return taken

    def learn_report(self, launcher: Launcher, report: Report, now: float) -> None:
        del now
        if report.vcpus == ODD:
            raise KeyError("vcpus")
        self.learned.append((launcher.pod, report.vcpus))

    def lost_line(self, launcher: Launcher, now: float) -> None:
        self.lost.append((launcher.pod, now))


class FakeLink:
    """A launcher that says a number and can be slow to listen."""

    def __init__(self) -> None:
        self.told: list[Order] = []
        self.says: asyncio.Queue[Report | None] = asyncio.Queue()
        self.may_hear = asyncio.Event()
        self.may_hear.set()

    async def order(self, order: Order) -> None:
        await self.may_hear.wait()
        self.told.append(order)

    async def reports(self) -> AsyncIterator[Report]:
        while (report := await self.says.get()) is not None:
            if report.run_state == "Paused":
                raise HypervisorGone("the line broke")
            yield report


class FakeLinks:
    """Launchers by pod, all of them deaf if need be."""

    def __init__(self) -> None:
        self.links: dict[str, FakeLink] = {}
        self.opened: list[tuple[str, float]] = []
        self.closed: list[str] = []
        self.is_deaf = False
        self.trouble: dict[str, Exception] = {}

    @contextlib.asynccontextmanager
    async def open(self, namespace: str, pod: str) -> AsyncIterator[FakeLink]:
        del namespace
        self.opened.append((pod, asyncio.get_running_loop().time()))
        if self.is_deaf:
            raise HypervisorGone("nobody answers")
        if pod in self.trouble:
            raise self.trouble[pod]
        self.links[pod] = FakeLink()
        try:
            yield self.links[pod]
        finally:
            self.closed.append(pod)


class Stage:
    """A keeper between a decider and launchers that do as they are told."""

    def __init__(self) -> None:
        self.decider, self.links, self.woken = FakeDecider(), FakeLinks(), 0
        self.clock, self.faults = SimClock(), Faults()
        keeper = LinkKeeper(self.decider, self.links, self.clock, self._wake, self.faults)
        self.task = asyncio.create_task(keeper.run())

    def _wake(self) -> None:
        self.woken += 1

    async def want(self, *launchers: Launcher) -> None:
        self.decider.wanted = set(launchers)
        self.decider.on_order()
        await idle()

    async def say(self, launcher: Launcher, vcpus: int = 0, **report: str) -> None:
        said = Report(run_state="Paused" if report else "Running", vcpus=vcpus)
        self.links.links[launcher.pod].says.put_nowait(said)
        await idle()

    async def order(self, launcher: Launcher, *orders: Order) -> None:
        self.decider.orders += [(launcher, order) for order in orders]
        self.decider.on_order()
        await idle()

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@contextlib.asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    await idle()
    try:
        yield made
    finally:
        await made.end()


def test_lines_follow_the_launchers() -> None:
    async def story() -> None:
        async with stage() as here:
            await here.want(DB, WEB)
            await here.say(DB, 4)
            await here.say(WEB, 2)
            assert here.decider.learned == [(DB.pod, 4), (WEB.pod, 2)]
            assert here.woken == 2
            await here.want(WEB)
            assert here.links.closed == [DB.pod]
            await here.want(WEB, DB)
            assert [pod for pod, _ in here.links.opened].count(DB.pod) == 2
            assert here.decider.lost == []

    run(story())


def test_a_pod_of_the_same_name_gets_a_line_of_its_own() -> None:
    async def story() -> None:
        async with stage() as here:
            await here.want(DB)
            await here.want(Launcher("default", DB.pod, "another", "n2"))
            assert here.links.closed == [DB.pod]
            assert len(here.links.opened) == 2

    run(story())


def test_orders_arrive_in_order_and_the_latest_of_a_kind_wins() -> None:
    async def story() -> None:
        async with stage() as here:
            await here.want(DB)
            await here.say(DB, 4)
            link = here.links.links[DB.pod]
            link.may_hear.clear()
            sizes = [SetSize(str(number), number, 8) for number in range(4)]
            await here.order(DB, *sizes[:1])
            await here.order(DB, *sizes[1:], PowerDown())
            link.may_hear.set()
            await idle()
            assert link.told == [sizes[0], sizes[3], PowerDown()]

    run(story())


def test_an_order_is_for_the_line_it_was_given_on() -> None:
    async def story() -> None:
        async with stage() as here:
            await here.want(DB)
            await here.order(DB, SetSize("early", 1, 8))
            assert here.decider.lost == [(DB.pod, here.clock.now())], "nothing was heard yet on this line"
            await here.say(DB, 4)
            here.links.links[DB.pod].may_hear.clear()
            await here.order(DB, SetSize("1", 1, 8))
            await here.order(DB, SetSize("2", 2, 8))
            await here.say(DB, broken="yes")
            await here.clock.sleep(1)
            await here.say(DB, 4)
            assert here.links.links[DB.pod].told == []
            await here.order(DB, SetSize("3", 3, 8))
            assert here.links.links[DB.pod].told == [SetSize("3", 3, 8)]
            await here.order(WEB, SetSize("4", 4, 8))
            assert here.decider.lost[-1] == (WEB.pod, here.clock.now())

    run(story())


def test_a_line_that_breaks_is_opened_again_ever_more_patiently() -> None:
    async def story() -> None:
        async with stage() as here:
            here.links.is_deaf = True
            await here.want(DB)
            await here.clock.sleep(120)
            moments = [moment for _, moment in here.links.opened]
            assert moments == [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5]
            assert [moment for _, moment in here.decider.lost] == [1_800_000_000 + each for each in moments]
            here.links.is_deaf = False
            await here.clock.sleep(2)
            await here.say(DB, 4)
            await here.say(DB, broken="yes")
            await here.clock.sleep(0.5)
            assert here.links.opened[-1] == (DB.pod, 122.5), "a line that spoke is missed at once"

    run(story())


def test_a_machine_that_has_ended_is_asked_for_again_until_its_pod_is_gone() -> None:
    async def story() -> None:
        async with stage() as here:
            await here.want(DB)
            await here.say(DB, 4)
            here.links.links[DB.pod].says.put_nowait(None)
            await idle()
            assert here.decider.lost == [(DB.pod, here.clock.now())]
            await here.want()
            await here.clock.sleep(60)
            assert len(here.links.opened) == 1

    run(story())


def test_a_line_that_fails_in_a_way_nobody_foresaw_is_that_lines_trouble() -> None:
    """Opened again ever more patiently, and counted; the others are heard meanwhile."""

    async def story() -> None:
        async with stage() as here:
            here.links.trouble[DB.pod] = KeyError("odd")
            await here.want(DB, WEB)
            await here.clock.sleep(40)
            await here.say(WEB, 2)
            assert here.decider.learned == [(WEB.pod, 2)]
            moments = [moment for pod, moment in here.links.opened if pod == DB.pod]
            assert moments == [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5]
            held = frozenset({f"default/{DB.pod}"})
            assert (here.faults.count(LOOP), here.faults.held(LOOP)) == (7, held)
            here.links.trouble.clear()
            await here.clock.sleep(30)
            await here.say(DB, 4)
            assert here.decider.learned[1:] == [(DB.pod, 4)]
            here.links.links[DB.pod].says.put_nowait(None)
            await idle()
            assert here.faults.held(LOOP) == frozenset()

    run(story())


def test_a_report_that_cannot_be_handled_breaks_its_line_only() -> None:
    """However often it says so: the pause grows, though the line was open."""

    async def story() -> None:
        async with stage() as here:
            await here.want(DB, WEB)
            for pause in (0.5, 1, 2):
                await here.say(DB, ODD)
                await here.clock.sleep(pause)
            await here.say(WEB, 2)
            assert here.decider.learned == [(WEB.pod, 2)]
            assert [moment for pod, moment in here.links.opened if pod == DB.pod] == [0, 0.5, 1.5, 3.5]
            assert here.faults.count(LOOP) == 3

    run(story())
