"""Clients that create, change and delete over HTTPS, and remember what the server has told them."""

import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

PATH = "/api/v1/namespaces/default/configmaps"
NAMES = 4
"""How many objects a client has."""
ANSWER_S = 30


class Known(NamedTuple):
    """An object as its owner wrote it, and the revision which that got."""

    text: str
    revision: int


class Attempt(NamedTuple):
    """A write without an answer; no text is a deletion."""

    name: str
    text: str | None


class Client:
    """Writes to objects of its own, one request at a time."""

    def __init__(self, number: int, source: random.Random) -> None:
        self.prefix = f"c{number}-"
        self.source = source
        self.known: dict[str, Known] = {}
        self.attempt: Attempt | None = None
        self.newest = self.acknowledged = self.refused = 0
        self.wrong: list[str] = []

    def run(self, url: str, context: ssl.SSLContext) -> None:
        """Write until the connection ends."""
        host = url.removeprefix("https://")
        connection = http.client.HTTPSConnection(host, context=context, timeout=ANSWER_S)
        try:
            while not self.wrong:
                self.write(connection)
        except (OSError, http.client.HTTPException):
            return  # it was killed; what was asked last may have happened or not
        finally:
            connection.close()

    def write(self, connection: http.client.HTTPSConnection) -> None:
        """One request; the answer, if there is one, is a promise."""
        name = f"{self.prefix}{self.source.randrange(NAMES)}"
        method, path, text = self.choose(name)
        self.attempt = Attempt(name, text)
        connection.request(method, path, None if text is None else self.body(name, text))
        response = connection.getresponse()
        content = response.read()
        if response.status == 500 and b"nothing of it is visible" in content:
            self.refused += 1
        elif response.status in {200, 201}:
            self.believe(name, text, json.loads(content))
        else:
            self.wrong.append(f"{method} {path}: {response.status} {content.decode()}")
        self.attempt = None

    def choose(self, name: str) -> tuple[str, str, str | None]:
        text = f"{self.source.getrandbits(64):016x}" * self.source.randrange(1, 300)
        if name not in self.known:
            return "POST", PATH, text
        if self.source.random() < 0.3:
            return "DELETE", f"{PATH}/{name}", None
        return "PUT", f"{PATH}/{name}", text

    def body(self, name: str, text: str) -> str:
        metadata: dict[str, str] = {"name": name}
        if name in self.known:
            metadata["resourceVersion"] = str(self.known[name].revision)  # a conflict would be a lost write
        return json.dumps({"metadata": metadata, "data": {"text": text}})

    def believe(self, name: str, text: str | None, answer: dict[str, Any]) -> None:
        self.acknowledged += 1
        if text is None:
            del self.known[name]
        else:
            self.known[name] = Known(text, int(answer["metadata"]["resourceVersion"]))
            self.newest = max(self.newest, self.known[name].revision)

    def compare(self, found: dict[str, Known], *, settled: bool) -> None:
        """Everything promised is there and nothing else, but for the write which nobody has answered.

        Whether that one happened is settled by the next server on these files, not by one on damaged copies.
        """
        mine = {name: known for name, known in found.items() if name.startswith(self.prefix)}
        expected = dict(self.known)
        if self.attempt is not None:
            name, text = self.attempt
            there = mine.get(name)
            if text == (there and there.text):  # it happened
                expected.pop(name, None)
                expected.update({name: there} if there else {})
        assert (self.wrong, mine) == ([], expected)
        if settled:
            self.known, self.attempt = expected, None


class Load:
    """Several clients, and what they were promised all together."""

    def __init__(self, context: ssl.SSLContext, source: random.Random, clients: int = 6) -> None:
        self._context = context
        self._clients = [Client(number, random.Random(source.random())) for number in range(clients)]  # noqa: S311

    @property
    def acknowledged(self) -> int:
        """How many writes have succeeded."""
        return sum(client.acknowledged for client in self._clients)

    @property
    def refused(self) -> int:
        """How many writes got a 500 that says why."""
        return sum(client.refused for client in self._clients)

    @contextmanager
    def on(self, url: str) -> Iterator[None]:
        """Write while the block runs, which ends the server."""
        threads = [
            threading.Thread(target=client.run, args=(url, self._context), daemon=True) for client in self._clients
        ]
        for thread in threads:
            thread.start()
        yield
        for thread in threads:
            thread.join(ANSWER_S)
            assert not thread.is_alive()

    def wait(self, answers: int) -> None:
        """Until so many writes more have been answered, or one wrongly."""
        enough, end = self.acknowledged + self.refused + answers, time.monotonic() + ANSWER_S
        while self.acknowledged + self.refused < enough and time.monotonic() < end:
            if any(client.wrong for client in self._clients):
                return
            time.sleep(0.001)

    def compare(self, url: str, *, settled: bool = True) -> None:
        """Read everything from a server and compare it with what was promised."""
        revision, found = self._read(url)
        for client in self._clients:
            client.compare(found, settled=settled)
            assert client.newest <= revision

    def _read(self, url: str) -> tuple[int, dict[str, Known]]:
        host = url.removeprefix("https://")
        connection = http.client.HTTPSConnection(host, context=self._context, timeout=ANSWER_S)
        connection.request("GET", PATH)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        assert response.status == 200, answer
        found = {
            item["metadata"]["name"]: Known(item["data"]["text"], int(item["metadata"]["resourceVersion"]))
            for item in answer["items"]
            if "text" in item["data"]
        }
        return int(answer["metadata"]["resourceVersion"]), found
