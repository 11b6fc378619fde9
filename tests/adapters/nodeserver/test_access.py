"""Who may ask a node, and how that is found out."""

import time

import aiohttp
import pytest
from cryptography import x509
from tests.adapters.nodeserver.stage import NODE, Stage
from tests.apiserver.auth import foreigncerts
from tests.apiserver.auth.foreigncerts import AMBIGUOUS

from flexlet.adapters.nodeserver.authorization import subresources
from flexlet.api import status
from flexlet.apiserver.auth.certificates import Credential

GOOD = {"Authorization": "Bearer good"}
SUBRESOURCES = [
    ("/stats/summary", ("stats",)),
    ("/metrics", ("metrics",)),
    ("/metrics/cadvisor", ("metrics",)),
    ("/metricsx", ("proxy",)),
    ("/logs/", ("log",)),
    ("/checkpoint/a/b/c", ("checkpoint",)),
    ("/statusz", ("statusz",)),
    ("/flagz", ("configz",)),
    ("/pods", ("pods", "proxy")),
    ("/runningpods/", ("pods", "proxy")),
    ("/healthz/ping", ("healthz", "proxy")),
    ("/configz", ("configz", "proxy")),
    ("/exec/a/b/c", ("proxy",)),
    ("/containerLogs/a/b/c", ("proxy",)),
    ("/", ("proxy",)),
]


@pytest.mark.parametrize(("path", "expected"), SUBRESOURCES)
def test_what_opens_a_page(path: str, expected: tuple[str, ...]) -> None:
    assert subresources(path) == expected


def stranger(stage: Stage) -> aiohttp.ClientSession:
    """A client without a certificate."""
    return aiohttp.ClientSession(stage.url, connector=aiohttp.TCPConnector(ssl=stage.authority.client_context()))


async def test_a_client_certificate_names_a_user_and_groups(stage: Stage, client: aiohttp.ClientSession) -> None:
    async with client.get("/healthz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok")
    (asked,) = stage.reviews.asked
    extra = asked.pop("extra")
    assert asked == {
        "user": "kube-apiserver",
        "groups": ["system:masters", "system:authenticated"],
        "resourceAttributes": {
            "verb": "get",
            "version": "v1",
            "resource": "nodes",
            "subresource": "healthz",
            "name": NODE,
        },
    }
    assert [values[0][:11] for values in extra.values()] == ["X509SHA256="]


@pytest.mark.parametrize("case", ["two common names", "the node last", "two in one part", "the same twice"])
async def test_a_certificate_of_two_names_is_nobodys(stage: Stage, case: str) -> None:
    """Readers differ in which they take: the API server refuses it, and so does a node, without asking."""
    der = foreigncerts.certificate(stage.authority.credential, AMBIGUOUS[case], time.time())
    shown = Credential(x509.load_der_x509_certificate(der), foreigncerts.KEY)
    connector = aiohttp.TCPConnector(ssl=stage.authority.client_context(shown))
    async with aiohttp.ClientSession(stage.url, connector=connector) as client, client.get("/healthz") as answer:
        assert answer.status == 401
    assert stage.reviews.asked == []


async def test_a_token_names_whom_the_api_server_says(stage: Stage) -> None:
    async with stranger(stage) as client, client.post("/stats/summary", headers=GOOD) as answer:
        assert answer.status == 200
    token, access = stage.reviews.asked
    assert token == {"token": "good"}
    assert access == {
        "user": "metrics",
        "uid": "7",
        "groups": ["ops", "system:authenticated"],
        "extra": {"k": ["v"]},
        "resourceAttributes": {
            "verb": "create",
            "version": "v1",
            "resource": "nodes",
            "subresource": "stats",
            "name": NODE,
        },
    }


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer bad"}, {"Authorization": "Basic good"}, {"Authorization": "Bearer "}]
)
async def test_nobody_in_particular_is_refused(stage: Stage, headers: dict[str, str]) -> None:
    """On every page, health and unknown ones included."""
    async with stranger(stage) as client:
        for path in ("/healthz", "/pods", "/nothing"):
            async with client.get(path, headers=headers) as answer:
                assert (answer.status, await answer.text()) == (401, "Unauthorized")


async def test_strangers_may_come_in_where_that_is_switched_on_but_not_with_a_bad_token() -> None:
    async with Stage().serving(allows_anonymous=True) as stage, stranger(stage) as client:
        async with client.get("/healthz") as answer:
            assert answer.status == 200
        async with client.get("/healthz", headers={"Authorization": "Bearer bad"}) as answer:
            assert answer.status == 401
    assert [(asked["user"], asked["groups"]) for asked in stage.reviews.asked if "user" in asked] == [
        ("system:anonymous", ["system:unauthenticated"])
    ]


async def test_tokens_are_not_looked_at_where_reviews_are_switched_off() -> None:
    async with (
        Stage().serving(reviews_tokens=False) as stage,
        stranger(stage) as client,
        client.get("/healthz", headers=GOOD) as answer,
    ):
        assert answer.status == 401
    assert stage.reviews.asked == []


async def test_any_of_the_subresources_suffices_and_they_are_tried_in_order(
    stage: Stage, client: aiohttp.ClientSession
) -> None:
    stage.reviews.allowed = {"proxy"}
    async with client.get("/pods") as answer:
        assert answer.status == 200
    assert [asked["resourceAttributes"]["subresource"] for asked in stage.reviews.asked] == ["pods", "proxy"]


async def test_who_may_not_is_told_what_was_missing(stage: Stage, client: aiohttp.ClientSession) -> None:
    stage.reviews.allowed = set()
    async with client.get("/pods") as answer:
        text = "Forbidden (user=kube-apiserver, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
        assert (answer.status, await answer.text()) == (403, text)
    async with client.post("/exec/default/web/app?output=1") as answer:
        text = "Forbidden (user=kube-apiserver, verb=create, resource=nodes, subresource(s)=[proxy])\n"
        assert (answer.status, await answer.text()) == (403, text)
    assert stage.runtime.calls == []


async def test_where_authorization_is_switched_off_whoever_is_known_may_do_everything() -> None:
    async with (
        Stage().serving(authorizes=False) as stage,
        stranger(stage) as client,
        client.get("/pods", headers=GOOD) as answer,
    ):
        assert answer.status == 200
    assert stage.reviews.asked == [{"token": "good"}]


async def test_answers_are_remembered_for_their_time(stage: Stage) -> None:
    """Tokens for two minutes, a yes for five, a no for half a minute."""

    async def get(path: str) -> int:
        async with stranger(stage) as client, client.get(path, headers=GOOD) as answer:
            return answer.status

    def asked() -> tuple[int, int]:
        tokens = sum("token" in spec for spec in stage.reviews.asked)
        return tokens, len(stage.reviews.asked) - tokens

    stage.reviews.allowed = {"metrics"}
    assert [await get("/metrics"), await get("/metrics"), asked()] == [200, 200, (1, 1)]
    assert [await get("/logs/"), await get("/logs/"), asked()] == [403, 403, (1, 2)]
    stage.clock.time += 31
    stage.reviews.allowed = {"log"}
    assert [await get("/logs/"), await get("/metrics"), asked()] == [200, 200, (1, 3)]
    stage.clock.time += 90
    assert [await get("/metrics"), asked()] == [200, (2, 3)]
    stage.clock.time += 180
    assert [await get("/metrics"), asked()[1]] == [403, 4]


async def test_a_wrong_token_is_remembered_too(stage: Stage) -> None:
    async with stranger(stage) as client:
        for _ in range(3):
            async with client.get("/pods", headers={"Authorization": "Bearer bad"}) as answer:
                assert answer.status == 401
    assert stage.reviews.asked == [{"token": "bad"}]


async def test_a_busy_api_server_is_asked_again(stage: Stage, client: aiohttp.ClientSession) -> None:
    stage.reviews.faults = [status.failure(503, "ServiceUnavailable", "away"), status.failure(429, "", "busy")]
    async with client.get("/pods") as answer:
        assert answer.status == 200
    assert stage.clock.slept == [0.5, 0.75]


async def test_an_api_server_that_stays_away_lets_nobody_in(stage: Stage, client: aiohttp.ClientSession) -> None:
    """And that is not remembered."""
    stage.reviews.faults = [status.failure(503, "ServiceUnavailable", "away")] * 10
    async with stranger(stage) as unknown, unknown.get("/pods", headers=GOOD) as answer:
        assert (answer.status, await answer.text()) == (401, "Unauthorized")
    async with client.get("/metrics") as answer:
        text = "Authorization error (user=kube-apiserver, verb=get, resource=nodes, subresource=metrics)"
        assert (answer.status, await answer.text()) == (500, text)
    assert len(stage.reviews.asked) == 10
    async with client.get("/metrics") as answer:
        assert answer.status == 200


async def test_a_refused_review_is_not_repeated(stage: Stage, client: aiohttp.ClientSession) -> None:
    """The node itself lacks the right to ask."""
    stage.reviews.faults = [status.failure(403, "Forbidden", "no")]
    async with client.get("/metrics") as answer:
        assert answer.status == 500
    assert (len(stage.reviews.asked), stage.clock.slept) == (1, [])
