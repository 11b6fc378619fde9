"""Watches over HTTPS."""

import asyncio
import json
from typing import Any

import pytest
from tests.apiserver.http.client import TABLE, Client

from flexlet.apiserver.rest import watching
from flexlet.apiserver.server import ApiServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"


async def read(stream: Any, count: int) -> list[Any]:
    """The next lines of a stream."""
    lines: list[Any] = []
    async with asyncio.timeout(10):
        while len(lines) < count:
            lines.append(json.loads(await stream.content.readline()))
    return lines


async def latest(admin: Client) -> str:
    version: str = (await admin.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
    return version


async def test_headers_come_before_any_event_and_events_as_they_happen(admin: Client) -> None:
    path = f"{MAPS}?watch=1&resourceVersion={await latest(admin)}"
    async with admin.stream(path) as stream:
        assert (stream.status, stream.headers["Content-Type"]) == (200, "application/json")
        created = await admin.ask("POST", MAPS, {"metadata": {"name": "seen"}})
        assert await read(stream, 1) == [{"type": "ADDED", "object": created.json}]
        await admin.ask("DELETE", f"{MAPS}/seen")
        (gone,) = await read(stream, 1)
        assert (gone["type"], gone["object"]["metadata"]["name"]) == ("DELETED", "seen")


async def test_a_stream_ends_cleanly_at_its_timeout(admin: Client) -> None:
    async with admin.stream(f"{MAPS}?watch=1&resourceVersion={await latest(admin)}&timeoutSeconds=1") as stream:
        assert await stream.content.read() == b""


async def test_the_old_form_watches_one_object(admin: Client) -> None:
    start = await latest(admin)
    path = f"/api/v1/watch/namespaces/default/configmaps/mine?resourceVersion={start}"
    async with admin.stream(path) as stream:
        await admin.ask("POST", MAPS, {"metadata": {"name": "other"}})
        await admin.ask("POST", MAPS, {"metadata": {"name": "mine"}})
        (event,) = await read(stream, 1)
        assert event["object"]["metadata"]["name"] == "mine"


async def test_a_table_watch_explains_its_columns_once(admin: Client) -> None:
    await admin.ask("POST", MAPS, {"metadata": {"name": "t1"}})
    async with admin.stream(f"{MAPS}?watch=1&labelSelector=!x", Accept=TABLE) as stream:
        first, second = await read(stream, 2)
        assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
        assert second["object"]["columnDefinitions"] is None
        assert len(first["object"]["rows"]) == len(second["object"]["rows"]) == 1


async def test_wrong_parameters_are_an_ordinary_error(admin: Client) -> None:
    answer = await admin.ask("GET", f"{MAPS}?watch=1&sendInitialEvents=true")
    assert (answer.status, answer.json["reason"]) == (422, "Invalid")
    yaml = await admin.ask("GET", f"{MAPS}?watch=1", Accept="application/yaml")
    assert yaml.status == 406


async def test_a_client_that_left_is_not_watched_for(
    admin: Client, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_S", 0.02)
    store = server.rest.backend.store
    async with admin.stream(f"{MAPS}?watch=1&resourceVersion={await latest(admin)}") as stream:
        await asyncio.sleep(0.05)
        before = store.statistics().watchers
        stream.close()
    async with asyncio.timeout(5):
        while store.statistics().watchers != before - 1:  # noqa: ASYNC110 counters tell nobody
            await asyncio.sleep(0.02)
    assert store.statistics().watchers == before - 1
