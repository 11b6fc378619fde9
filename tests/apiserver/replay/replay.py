"""Replaying one transcript: a fresh server, every line in order, what differs."""

import asyncio
import importlib
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import yaml
from tests.apiserver.replay import transcript
from tests.apiserver.replay.bindings import TOKEN, Bindings
from tests.apiserver.replay.client import SETTLE_S, Clients, Reply, encoded
from tests.apiserver.replay.comparison import Difference, differences
from tests.apiserver.replay.stage import PATIENCE_S, PAUSE_S, Stage, World
from tests.apiserver.replay.transcript import Line

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.housekeeping.namespaces import Terminator
from flexlet.apiserver.housekeeping.quota import QuotaKeeper
from flexlet.apiserver.server import Settings, serving


async def replay(name: str, directory: Path) -> dict[int, list[Difference]]:
    """Every line of a transcript against a server of its own: line number to differences."""
    stage: Stage = importlib.import_module(f"tests.apiserver.replay.stages.{name}").STAGE
    script = transcript.lines(name, stage.generated)
    settings = Settings(data=directory / "data")
    async with serving(settings, SystemClock()) as server, Clients(server, directory) as clients:
        world = World(server, clients, Bindings(stage.unordered, stage.loose), script)
        run = Run(world, stage)
        with _held(world):
            return await run.all(script)


@contextmanager
def _held(world: World) -> Iterator[None]:
    """Namespaces on their way out and quotas to be counted wait until the stage lets them."""
    end, count = Terminator._round, QuotaKeeper._count

    async def end_when_allowed(self: Terminator, name: str) -> bool:
        await world.namespaces_may_end.wait()
        return await end(self, name)

    async def count_when_allowed(self: QuotaKeeper, namespace: str) -> bool:
        await world.quotas_may_count.wait()
        return await count(self, namespace)

    ends = patch.object(Terminator, "_round", end_when_allowed)
    with ends, patch.object(QuotaKeeper, "_count", count_when_allowed):
        yield


class Run:
    """One transcript on its way."""

    def __init__(self, world: World, stage: Stage) -> None:
        self._world = world
        self._stage = stage
        self._bindings = world.bindings
        self._etags: dict[str, str] = {}
        self._open: dict[int, asyncio.Task[Reply]] = {}

    async def all(self, script: Sequence[Line]) -> dict[int, list[Difference]]:
        """Every line in order; watches that stayed open are read when their last line is done."""
        found: dict[int, list[Difference]] = {}
        for line in script:
            await self._prepare(line)
            if line.seq in self._stage.late:
                self._open[line.seq] = asyncio.create_task(self._send(line))
                await asyncio.sleep(SETTLE_S)
                continue
            found[line.seq] = await self._line(line)
            for watch in [each for each in script if self._stage.late.get(each.seq) == line.seq]:
                found[watch.seq] = self._compare(watch, await self._open[watch.seq])
        return found

    async def _prepare(self, line: Line) -> None:
        if line.seq in self._stage.before:
            await self._stage.before[line.seq](self._world)

    async def _line(self, line: Line) -> list[Difference]:
        """Send and compare one line."""
        kept = dict(self._bindings.values)
        found = self._compare(line, await self._send(line))
        deadline = time.monotonic() + (PATIENCE_S if line.seq in self._stage.patient else 0)
        while found and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_S)
            self._bindings.values = dict(kept)
            found = self._compare(line, await self._send(line))
        if line.applies:
            await self._world.applied(line)
        return found

    async def _send(self, line: Line) -> Reply:
        clients = self._world.clients
        await self._read_first(line)
        url = clients.url(self._bindings.fill(line.path), self._filled(line.query))
        headers = self._headers(line)
        body = self._stage.bodies.get(line.seq, line.request_body)
        self._bindings.scope = body.get("metadata", {}).get("uid", "") if isinstance(body, dict) else ""
        if line.watches:
            step = self._stage.during.get(line.seq)
            during = (lambda: step(self._world)) if step is not None else None
            return await clients.events(line.as_user, url, headers, len(line.response_body), during)
        return await clients.send(line.as_user, line.method, url, headers, encoded(self._filled(body)))

    async def _read_first(self, line: Line) -> None:
        """A PUT of a version nobody has shown yet: its client had read the object just before."""
        body = line.request_body
        metadata = body.get("metadata", {}) if isinstance(body, dict) and line.method == "PUT" else {}
        version = metadata.get("resourceVersion", "")
        if not TOKEN.fullmatch(version) or version.strip("<>") in self._bindings.values:
            return
        path = self._bindings.fill(line.path)
        name = self._bindings.fill(metadata["name"])
        present = await self._world.do("GET", path[: path.rindex(f"/{name}") + len(name) + 1])
        for field in ("uid", "resourceVersion"):
            self._bindings.match(metadata.get(field, ""), present["metadata"][field])

    def _headers(self, line: Line) -> dict[str, str]:
        headers = dict(line.request_headers)
        if "If-None-Match" in headers:
            headers["If-None-Match"] = self._etags.get(headers["If-None-Match"], "")
        if line.as_user == "token":
            token = self._stage.tokens.get(line.seq) or self._bindings.values.get("jwt", "")
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._bindings.fill(key): self._filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        return self._bindings.fill(value) if isinstance(value, str) else value

    def _compare(self, line: Line, reply: Reply) -> list[Difference]:
        found: list[Difference] = []
        if reply.status != line.status:
            ours = f"{reply.status} {reply.data[:600].decode(errors='replace')}"
            found.append(Difference("status", f"recorded {line.status}, ours {ours}"))
        for name, value in line.response_headers.items():
            found += self._header(name, value if isinstance(value, list) else [value], reply)
        return found + differences(*_values(line, reply), self._bindings)

    def _header(self, name: str, recorded: list[str], reply: Reply) -> list[Difference]:
        ours = reply.headers.get(name.title(), [])
        if name == "Etag" and len(ours) == 1:
            ours = recorded if self._etags.setdefault(recorded[0], ours[0]) == ours[0] else ours
        return differences({name: recorded}, {name: ours}, self._bindings) if recorded != ours else []


def _values(line: Line, reply: Reply) -> tuple[Any, Any]:
    """Both bodies as values of the same form."""
    recorded, text = line.response_body, reply.data
    if isinstance(recorded, list) and recorded and all(isinstance(item, str) for item in recorded):
        recorded = "".join(recorded)
    if isinstance(recorded, str) and line.response_headers.get("Content-Type") == "application/yaml":
        return _Text(re.sub(r": (<[^>]*>)", r': "\1"', recorded)).get_data(), _Text(text).get_data()
    if isinstance(recorded, str):
        return recorded, text.decode(errors="replace")
    if recorded is None:
        return None, text.decode(errors="replace") or None
    try:
        return recorded, msgspec.json.decode(text)
    except msgspec.DecodeError:
        return recorded, text.decode(errors="replace")


class _Text(yaml.SafeLoader):
    """YAML in which times stay text."""


_Text.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for key, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
