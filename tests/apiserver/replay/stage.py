"""What happens out of sight of a transcript: objects put there, controllers' work, writes during a watch."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from tests.apiserver.replay.bindings import Bindings
from tests.apiserver.replay.client import Clients, encoded
from tests.apiserver.replay.comparison import differences
from tests.apiserver.replay.transcript import Line, lines

from flexlet.apiserver.server import ApiServer

JSON = {"Accept": "application/json", "Content-Type": "application/json"}
WIDGETS: Final = 9
KUBE_SYSTEM: Final = {'"resourceVersion": "6"': '"resourceVersion": "<rv:1000>"'}
"""A version that the recordings kept as it was."""
PATIENCE_S: Final = 20.0
PAUSE_S: Final = 0.02
Body: TypeAlias = Mapping[str, Any]


class World:
    """A running server in the hands of whoever prepares a line."""

    def __init__(self, server: ApiServer, clients: Clients, bindings: Bindings, script: tuple[Line, ...]) -> None:
        self.server = server
        self.clients = clients
        self.bindings = bindings
        self.recorded = {line.seq: line for line in script}
        self.namespaces_may_end = asyncio.Event()
        self.namespaces_may_end.set()
        self.quotas_may_count = asyncio.Event()
        self.quotas_may_count.set()

    async def do(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Any:
        """One request of the administrator that must succeed; gives the answer's value."""
        url, query = path, {}
        if "?" in path:
            url, _, text = path.partition("?")
            query = dict(part.split("=", 1) for part in text.split("&"))
        headers = {**JSON, "Content-Type": media}
        reply = await self.clients.send("", method, self.clients.url(url, query), headers, encoded(body))
        assert reply.status < 300, f"{method} {path}: {reply.status} {reply.data.decode()}"
        return msgspec.json.decode(reply.data)

    def filled(self, value: Any) -> Any:
        """A recorded value with values in place of its placeholders."""
        return msgspec.json.decode(self.bindings.fill(json.dumps(value)))

    async def create(self, path: str, body: Body) -> Any:
        """Create an object in a collection."""
        return await self.do("POST", path, body)

    async def merge(self, path: str, body: Body) -> Any:
        """Merge-patch an object."""
        return await self.do("PATCH", path, body, "application/merge-patch+json")

    async def widgets(self) -> None:
        """The custom resource that several transcripts use, as crd.jsonl defines it."""
        definition = next(line for line in lines("crd") if line.seq == WIDGETS)
        created = await self.create(definition.path, definition.request_body)
        await self.settled(f"{definition.path}/{created['metadata']['name']}", "Established")

    async def as_recorded(self, seq: int, path: str = "", body: Body | None = None) -> None:
        """Give an object the content that a line shows: the work of a controller or of somebody unseen."""
        line = self.recorded[seq]
        path = self.bindings.fill(path or line.path)
        wanted = self.filled(body or line.response_body)
        for target in (f"{path}/status", path) if "status" in wanted else (path,):
            await self._put(target, path, wanted)

    async def _put(self, target: str, path: str, wanted: Any) -> None:
        present = await self.do("GET", path)
        kept = {key: present["metadata"][key] for key in ("uid", "resourceVersion")}
        await self.do("PUT", target, {**wanted, "metadata": {**wanted["metadata"], **kept}})

    async def put_up(self, collection: str, recorded: Body, name: str = "") -> Any:
        """Make an object that a line shows, status and all; with another name where a part of it was generated."""
        body = self.filled(recorded)
        name = name or body["metadata"]["name"]
        body["metadata"] = {**body["metadata"], "name": name, "uid": "", "resourceVersion": ""}
        created = await self.create(collection, body)
        if "status" in body:
            await self._put(f"{collection}/{name}/status", f"{collection}/{name}", body)
        return created

    async def applied(self, line: Line) -> None:
        """What a server-side apply would have left behind, put there without one."""
        name = self.bindings.fill(line.response_body["metadata"]["name"])
        target = self.bindings.fill(line.path)
        path = target[: target.rindex(f"/{name}") + len(name) + 1]
        reply = await self.clients.send("", "GET", self.clients.url(path, {}), JSON, None)
        if reply.status == 404:
            await self.put_up(path.rpartition("/")[0], line.response_body)
        await self._put(target, path, self.filled(line.response_body))
        differences(line.response_body, await self.do("GET", path), self.bindings)

    async def status_of(self, seq: int, **changed: Any) -> None:
        """Give an object the status (and revision) that a line's answer shows, as its controller did before."""
        line = self.recorded[seq]
        path = self.bindings.fill(line.path.removesuffix("/status"))
        status = self.filled({**line.response_body["status"], **changed})
        shown = line.response_body["metadata"].get("annotations", {})
        present = await self.do("GET", path)
        kept = {key: value for key, value in shown.items() if key.startswith("deployment.kubernetes.io/")}
        annotations = {**present["metadata"].get("annotations", {}), **kept}
        metadata = {**present["metadata"], "annotations": annotations}
        await self.do("PUT", f"{path}/status", {**present, "metadata": metadata, "status": status})

    async def seen(self, path: str, number: int) -> None:
        """Bind a version that the recorder read out of sight."""
        self.bindings.values[f"rv:{number}"] = (await self.do("GET", path))["metadata"]["resourceVersion"]

    async def settled(self, path: str, condition: str) -> None:
        """Wait until a condition of an object is True."""

        def true(obj: Any) -> bool:
            conditions = obj.get("status", {}).get("conditions") or ()
            return any(item["type"] == condition and item["status"] == "True" for item in conditions)

        await self.until(path, true)

    async def until(self, path: str, good: Callable[[Any], bool]) -> None:
        """Wait until an object is as the server's own loops make it."""
        async with asyncio.timeout(PATIENCE_S):
            while not good(await self.do("GET", path)):  # noqa: ASYNC110  the server changes it
                await asyncio.sleep(PAUSE_S)

    async def touch(self) -> None:
        """A write somewhere else, so that the next list shows a later version."""
        await self.create("/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "elsewhere-"}})

    async def delete(self, path: str) -> Any:
        """Delete an object."""
        return await self.do("DELETE", path)

    async def namespace(self, name: str, **metadata: Any) -> None:
        """A namespace with what every namespace gets: an account and the CA."""
        await self.create("/api/v1/namespaces", {"metadata": {"name": name, **metadata}})
        for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            await self.appears(f"/api/v1/namespaces/{name}/{path}")

    async def appears(self, path: str) -> Any:
        """Wait for an object that the server makes by itself."""
        watched, _, name = path.rpartition("/")
        query = {"watch": "1", "fieldSelector": f"metadata.name={name}"}
        await self.clients.events("", self.clients.url(watched, query), JSON, 1, None)
        return await self.do("GET", path)


Step: TypeAlias = Callable[[World], Awaitable[object]]


def status_of(seq: int, **changed: Any) -> Step:
    """A controller writes the status that a later line shows, but for what the line itself changes."""
    return lambda world: world.status_of(seq, **changed)


def as_recorded(seq: int) -> Step:
    """Somebody unseen writes the object that a later line shows."""
    return lambda world: world.as_recorded(seq)


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """The unrecorded part of a transcript, by line."""

    before: Mapping[int, Step] = {}
    """Done before a line is sent."""
    during: Mapping[int, Step] = {}
    """Done while a line's watch is open."""
    late: Mapping[int, int] = {}
    """Watches that stayed open while others were served, up to that line."""
    bodies: Mapping[int, Any] = {}
    """Bodies that the recording could not keep as they were: values, or finished bytes."""
    tokens: Mapping[int, str] = {}
    """Bearer tokens; the last one seen if not given."""
    patient: frozenset[int] = frozenset()
    """Lines whose answer needs the server's own loops: asked again until it is there."""
    unordered: frozenset[int] = frozenset()
    """Numbers of resource versions that controllers made at a time of their own."""
    loose: frozenset[int] = frozenset()
    """Numbers that stand for one version in the recording and for several here."""
    generated: Mapping[str, str] = {}
    """Generated texts that the recording kept, and the placeholder for each."""


def pod(name: str, **spec: Any) -> Body:
    """A small pod, on its node or left alone by schedulers."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    container = {"name": "c", "image": "busybox:1", "command": ["sleep", "1d"], "resources": resources}
    plain = {"automountServiceAccountToken": False, "containers": [container]}
    unscheduled = {} if "nodeName" in spec else {"schedulerName": "none"}
    return {"metadata": {"name": name}, "spec": {**plain, **unscheduled, **spec}}
