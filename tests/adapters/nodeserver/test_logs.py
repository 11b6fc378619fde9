"""``/containerLogs`` and ``/logs/``."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from tests.adapters.nodeserver.stage import Stage, write_log

from flexlet.core.logs.runs import Reported

LOGS = "/containerLogs/default/web/app"
SPLIT_STREAMS = (
    'unable to return the given log stream: "Stdout". '
    "Please enable PodLogsQuerySplitStreams feature gate in kubelet"
)


@pytest.fixture
def log(stage: Stage, tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    write_log(path, "one", "two", "three")
    write_log(tmp_path / "0.log.old", "before")
    stage.views.log_path = str(path)
    return path


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "one\ntwo\nthree\n"),
        ("?tailLines=1&timestamps=true", "2020-01-01T00:00:00.000000000Z three\n"),
        ("?limitBytes=5", "one\nt"),
        ("?previous=true", "before\n"),
        ("?sinceSeconds=5", ""),
    ],
)
@pytest.mark.usefixtures("log")
async def test_logs(client: aiohttp.ClientSession, query: str, expected: str) -> None:
    async with client.get(LOGS + query) as answer:
        assert (answer.status, await answer.text()) == (200, expected)
        assert answer.headers["Transfer-Encoding"] == "chunked"


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/containerLogs/default/none/app", 404, 'pod "none" does not exist'),
        ("/containerLogs/default/web/none", 404, 'container "none" not found in pod "web"'),
        (
            "/containerLogs/default/web/idle",
            400,
            'container "idle" in pod "web" is waiting to start: ContainerCreating',
        ),
        (
            "/containerLogs/default/web/idle?previous=true",
            400,
            'previous terminated container "idle" in pod "web" not found',
        ),
        ("/containerLogs/default/none/app?tailLines=x", 400, '{"message": "Unable to decode query."}'),
        ("/containerLogs/default/none/app?tailLines=-1", 422, '{"message": "Invalid request."}'),
        (
            f"{LOGS}?stream=Stdout",
            400,
            SPLIT_STREAMS,
        ),
        ("/containerLogs/default/web", 404, "404: Page Not Found"),
    ],
)
async def test_refusals(client: aiohttp.ClientSession, path: str, code: int, text: str) -> None:
    async with client.get(path) as answer:
        assert (answer.status, await answer.text()) == (code, text)


async def test_trouble_with_a_file_is_told_in_the_stream(stage: Stage, client: aiohttp.ClientSession) -> None:
    """The kubelet has answered 200 by then; people read the text in kubectl."""
    async with client.get("/containerLogs/default/web/lost") as answer:
        assert (answer.status, await answer.text()) == (200, "unable to retrieve container logs for gone")
    stage.views.log_path = "/none/0.log"
    async with client.get(LOGS) as answer:
        text = 'failed to try resolving symlinks in path "/none/0.log": lstat /none: no such file or directory'
        assert (answer.status, await answer.text()) == (200, text)


async def test_lines_are_sent_as_they_are_written_until_the_container_ends(
    stage: Stage, client: aiohttp.ClientSession, log: Path
) -> None:
    async with asyncio.timeout(20), client.get(f"{LOGS}?follow=true&tailLines=1") as answer:
        assert await answer.content.readany() == b"three\n"
        with log.open("a") as file:
            file.write("2020-01-01T00:00:00Z stdout F four\n")
        assert await answer.content.readany() == b"four\n"
        stage.views.running.clear()
        stage.views.reported = Reported(terminated="c1")
        assert await answer.content.read() == b""


async def test_a_follower_that_leaves_ends_the_following(stage: Stage, log: Path) -> None:
    """Also if the container never says another word."""
    asked = asyncio.Event()
    running = stage.views.is_running

    def is_running(container_id: str) -> bool:
        asked.set()
        return running(container_id)

    stage.views.is_running = is_running  # type: ignore[method-assign]
    del log
    client = await stage.connect()
    await client.send(f"GET {LOGS}?follow=true HTTP/1.1\r\nHost: n\r\n\r\n".encode())
    await client.reader.readuntil(b"three\n")
    labels = {"long_running": "false", "method": "GET", "path": "containerLogs", "server_type": "readwrite"}
    key = tuple(labels[name] for name in ("method", "path", "server_type", "long_running"))
    await asyncio.wait_for(asked.wait(), 10)
    inflight = stage.ledger._values["kubelet_http_inflight_requests"]
    assert inflight[key] == 1
    await client.close()
    async with asyncio.timeout(10):
        while inflight[key]:  # noqa: ASYNC110 the count is all that shows it
            await asyncio.sleep(0.01)


async def test_files_below_var_log(tmp_path: Path) -> None:
    """A link that leads out shows nothing: pods may write there."""
    root = tmp_path / "log"
    (root / "sub dir").mkdir(parents=True)
    (root / "messages").write_text("hello\n" * 20_000)
    (root / "sub dir" / "<b>").write_text("x")
    (tmp_path / "secret").write_text("secret")
    (root / "leak").symlink_to(tmp_path / "secret")
    (root / "inside").symlink_to("messages")
    async with Stage().serving(log_root=str(root)) as stage:
        connector = aiohttp.TCPConnector(ssl=stage.admin())
        async with aiohttp.ClientSession(stage.url, connector=connector) as client:

            async def get(path: str) -> tuple[int, str]:
                async with client.get(f"{stage.url}{path}") as answer:
                    return answer.status, await answer.text()

            assert await get("/logs/messages") == (200, "hello\n" * 20_000)
            assert await get("/logs/inside") == (200, "hello\n" * 20_000)
            code, listing = await get("/logs/")
            assert (code, '<a href="sub%20dir/">sub dir/</a>\n' in listing) == (200, True)
            code, listing = await get("/logs/sub%20dir/")
            assert (code, "&lt;b&gt;" in listing) == (200, True)
            for path in ("/logs/leak", "/logs/none", "/logs/..%2f..%2fsecret", "/logs/%2fetc%2fpasswd"):
                assert await get(path) == (404, "404 page not found\n")
