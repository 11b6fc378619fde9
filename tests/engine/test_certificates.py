"""Certificates are asked for, waited for, stored, used and renewed; nothing stops that for good."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.engine.fakes import FakeCluster, ManualClock

from flexlet.api import age, status
from flexlet.core.certificates import wanted
from flexlet.core.certificates.wanted import Held, Wanted, request_body
from flexlet.engine.bootstrap import first_certificate
from flexlet.engine.certificates import CertificateStatistics, Keeper
from flexlet.errors import ConfigError
from flexlet.ports.certificates import Draft

CSRS = "certificatesigningrequests"
CLIENT = wanted.client("n1")
DAY = 86400.0


class MemoryStore:
    """Pairs in a list; a certificate is its own facts."""

    path = "/pki/current.pem"

    def __init__(self, clock: ManualClock, held: Held | None = None) -> None:
        self.clock = clock
        self.held = held
        self.saved: list[tuple[bytes, bytes]] = []
        self.life_s = 100 * DAY
        self.drafts = self.forgotten = 0
        self._asked: Wanted | None = None

    async def load(self) -> Held | None:
        return self.held

    async def draft(self, wanted: Wanted) -> Draft:
        self.drafts += 1
        self._asked = wanted
        return Draft(b"csr", b"key%d" % self.drafts)

    async def first_draft(self, wanted: Wanted) -> Draft:
        self._asked = wanted
        return Draft(b"csr", b"key", f"node-csr-{self.forgotten}")

    async def forget_key(self) -> None:
        self.forgotten += 1

    async def save(self, certificate: bytes, key: bytes) -> Held:
        assert self._asked is not None
        self.saved.append((certificate, key))
        now = self.clock.now()
        begins = now - 10 * self.life_s if certificate == b"ended" else now
        self.forgotten += certificate == b"ended"
        return Held(
            begins=begins,
            ends=begins + self.life_s,
            common_name=self._asked.common_name,
            organizations=self._asked.organizations,
            dns_names=self._asked.dns_names,
            ips=self._asked.ips,
        )


class Bench:
    """A keeper on a fake cluster, and somebody who answers its requests."""

    def __init__(self, held: Held | None = None) -> None:
        self.clock = ManualClock()
        self.cluster = FakeCluster()
        self.store = MemoryStore(self.clock, held)
        self.wanted: Wanted | None = CLIENT
        self.told: list[str] = []
        self.keeper = Keeper(
            self.cluster,
            self.clock,
            self.store,
            lambda: self.wanted,
            on_change=self._tell,
            chance=lambda: 0.5,
        )

    async def _tell(self, path: str) -> None:
        self.told.append(path)

    def requests(self) -> list[str]:
        return [request["metadata"]["name"] for request in self.cluster.all(CSRS)]

    def answer(self, kind: str = "Approved", certificate: bytes = b"pem", name: str = "") -> None:
        """Add a condition, and a certificate where it is an approval, to the newest request or the named one."""
        found = self.cluster.objects[CSRS, "", name or self.requests()[-1]]
        said: dict[str, Any] = {"conditions": [{"type": kind, "status": "True", "reason": "Because"}]}
        if kind == "Approved":
            said["certificate"] = b64encode(certificate).decode()
        self.cluster.put(CSRS, {**found, "status": said}, "MODIFIED")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.keeper.run())
        await settle()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def after(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await settle()


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_missing_certificate_is_asked_for_and_announced() -> None:
    bench = Bench()
    async with bench.running():
        body = bench.cluster.all(CSRS)[0]
        assert {**body, "metadata": {}} == {**request_body(CLIENT, b"csr"), "metadata": {}}
        assert bench.told == []
        bench.answer()
        await settle()
        assert (bench.store.saved, bench.told) == ([(b"pem", b"key1")], ["/pki/current.pem"])
        ends = bench.clock.now() + 100 * DAY
        assert bench.keeper.statistics() == CertificateStatistics(ends=ends, renewals=1, failures=0)


async def test_a_certificate_is_renewed_before_it_ends_with_a_new_key() -> None:
    """At 80 % of its life with this luck, and again, and again."""
    bench = Bench()
    async with bench.running():
        bench.answer()
        await settle()
        await bench.after(79 * DAY)
        assert len(bench.requests()) == 1
        await bench.after(DAY)
        assert len(bench.requests()) == 2
        bench.answer(certificate=b"second")
        await settle()
        await bench.after(80 * DAY)
        bench.answer(certificate=b"third")
        await settle()
        assert bench.store.saved == [(b"pem", b"key1"), (b"second", b"key2"), (b"third", b"key3")]
        assert bench.told == ["/pki/current.pem"] * 3


async def test_a_renewal_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="flexlet.engine.certificates")
    bench = Bench()
    async with bench.running():
        bench.answer()
        await settle()
        ends = age.format_seconds(bench.clock.now() + bench.store.life_s)
        assert caplog.messages == [f"certificate renewed path={bench.store.path} ends={ends}"]


async def test_a_good_certificate_is_left_alone_and_a_changed_wish_replaces_it() -> None:
    """The node's address changes: the serving certificate follows at once."""
    clock = ManualClock()
    first, second = (wanted.serving("n1", [("InternalIP", ip)]) for ip in ("10.0.0.1", "10.0.0.2"))
    assert first is not None
    held = Held(
        begins=clock.now(),
        ends=clock.now() + DAY,
        common_name=first.common_name,
        organizations=first.organizations,
        ips=first.ips,
    )
    bench = Bench(held)
    bench.wanted = first
    async with bench.running():
        await bench.after(3600)
        assert bench.requests() == []
        bench.wanted = second
        bench.keeper.wake()
        await settle()
        bench.answer()
        await settle()
        assert bench.keeper.held is not None
        assert bench.keeper.held.ips == ("10.0.0.2",)


async def test_nothing_is_asked_for_while_nothing_is_wanted() -> None:
    bench = Bench()
    bench.wanted = None
    async with bench.running():
        await bench.after(DAY)
        assert bench.requests() == []
        bench.wanted = CLIENT
        bench.keeper.wake()
        await settle()
        assert len(bench.requests()) == 1


async def test_a_request_that_is_no_longer_wanted_is_replaced() -> None:
    bench = Bench()
    async with bench.running():
        bench.wanted = wanted.client("n2")
        bench.keeper.wake()
        await settle()
        first, second = bench.requests()
        bench.answer(name=first, certificate=b"late")
        bench.answer(name=second)
        await settle()
        assert bench.store.saved == [(b"pem", b"key2")]
        assert bench.keeper.statistics().failures == 0


@pytest.mark.parametrize(
    "trouble",
    [
        lambda bench: bench.answer("Denied"),
        lambda bench: bench.answer("Failed"),
        lambda bench: bench.cluster.drop(CSRS, "", bench.requests()[-1]),
        lambda bench: bench.clock.advance(900),
    ],
    ids=["denied", "failed", "deleted", "late"],
)
async def test_a_request_that_comes_to_nothing_is_made_again(trouble: Callable[[Bench], None]) -> None:
    """After two seconds, then four; a success forgets the trouble."""
    bench = Bench()
    async with bench.running():
        for failures, pause in ((1, 2), (2, 4)):
            trouble(bench)
            await settle()
            assert bench.keeper.statistics().failures == failures
            drafts = bench.store.drafts
            await bench.after(pause - 1)
            assert bench.store.drafts == drafts
            await bench.after(1)
            assert bench.store.drafts == drafts + 1
        bench.answer()
        await settle()
        assert bench.store.saved == [(b"pem", b"key3")]


async def test_a_server_that_is_away_is_waited_for() -> None:
    """Neither asking nor waiting gives up."""
    bench = Bench()
    bench.cluster.refuse["create"] = status.failure(503, "ServiceUnavailable", "away")
    async with bench.running():
        assert bench.requests() == []
        bench.cluster.refuse = {"list": status.failure(503, "ServiceUnavailable", "away")}
        await bench.after(2)
        assert len(bench.requests()) == 1
        bench.answer()
        bench.cluster.refuse = {}
        await bench.after(1)
        assert bench.told == ["/pki/current.pem"]


async def test_a_watch_that_ends_is_followed_by_another() -> None:
    bench = Bench()
    async with bench.running():
        bench.cluster.end_watches()
        await settle()
        await bench.after(1)
        bench.answer()
        await settle()
        assert bench.told == ["/pki/current.pem"]


async def first(bench: Bench, *, meanwhile: Callable[[], object], seconds: float = 0) -> str:
    """The error of a first request, empty if all went well; `meanwhile` happens once it is sent."""
    task = asyncio.create_task(first_certificate(bench.cluster, bench.clock, bench.store, CLIENT))
    await settle()
    meanwhile()
    await settle()
    if seconds:
        await bench.after(seconds)
    try:
        await task
    except ConfigError as error:
        return str(error)
    return ""


async def test_the_first_request_has_a_name_that_is_found_again() -> None:
    """Approved while the node was down: the next start takes it up, and asks for nothing new."""
    bench = Bench()
    bench.cluster.put(CSRS, request_body(CLIENT, b"csr", "node-csr-0"))
    bench.answer()
    assert await first(bench, meanwhile=lambda: None) == ""
    assert (bench.store.saved, bench.requests()) == ([(b"pem", b"key")], ["node-csr-0"])


async def test_an_old_answer_with_an_ended_certificate_leads_to_a_new_request() -> None:
    bench = Bench()
    bench.cluster.put(CSRS, request_body(CLIENT, b"csr", "node-csr-0"))
    bench.answer(certificate=b"ended")
    assert await first(bench, meanwhile=lambda: bench.answer(name="node-csr-1")) == ""
    assert [certificate for certificate, _ in bench.store.saved] == [b"ended", b"pem"]


async def test_what_keeps_a_node_out_is_said() -> None:
    bench = Bench()
    denied = await first(bench, meanwhile=lambda: bench.answer("Denied"))
    assert denied == "no certificate for system:node:n1: the request is denied: Because"
    assert bench.store.forgotten == 1
    late = await first(bench, meanwhile=lambda: None, seconds=3600)
    approve = "`kubectl certificate approve node-csr-1`, or let the controller manager do it"
    assert late == f"nobody approved the request node-csr-1 within an hour; {approve}"
    assert bench.store.forgotten == 1
    bench.cluster.refuse["create"] = status.failure(401, "Unauthorized", "Unauthorized")
    refused = await first(bench, meanwhile=lambda: None)
    assert refused.startswith("the bootstrap credentials are refused: Unauthorized; get a new bootstrap token")


async def test_a_node_waits_for_a_server_that_is_not_there_yet() -> None:
    bench = Bench()
    bench.cluster.refuse["create"] = status.failure(503, "ServiceUnavailable", "away")

    def come_up() -> None:
        bench.cluster.refuse.clear()
        bench.clock.advance(2)

    task = asyncio.create_task(first_certificate(bench.cluster, bench.clock, bench.store, CLIENT))
    await settle()
    come_up()
    await settle()
    bench.answer()
    await task
    assert bench.store.saved == [(b"pem", b"key")]
