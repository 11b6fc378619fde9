"""Small parts of a node that a simulation keeps in memory: checkpoints, a journal, a network nobody listens on."""

from collections.abc import Callable
from typing import Any

from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing.targets import GrpcRequest, HttpRequest, TcpRequest
from flexlet.errors import HostError


class MemoryCheckpoints:
    """`flexlet.ports.checkpoints.Checkpoints` in a dict; they outlive the agents that write them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def path(self, name: str) -> str:
        """Where it would lie."""
        return f"/var/lib/kubelet/{name}"

    async def load(self, name: str) -> bytes | None:
        """The content, None if there is no such file."""
        return self.files.get(name)

    async def save(self, name: str, data: bytes) -> None:
        """Replace it."""
        self.files[name] = data

    async def set_aside(self, name: str) -> str:
        """Keep it under another name."""
        self.files[f"{name}.bad"] = self.files.pop(name)
        return self.path(f"{name}.bad")


class MemoryLedger:
    """`flexlet.ports.hostledger.HostLedger` of a host in one process."""

    def __init__(self) -> None:
        self.content: bytes | None = None
        self.broken = ""
        """Why it cannot be reached, empty if it can."""

    async def change(self, how: Callable[[bytes | None], bytes]) -> None:
        """Replace it."""
        if self.broken:
            raise HostError(self.broken)
        self.content = how(self.content)


class MemoryJournal:
    """`flexlet.ports.journal.Journal` in a list."""

    def __init__(self) -> None:
        self.entries: list[tuple[float, str, str, Any]] = []

    def note(self, at: float, kind: str, subject: str, what: Any) -> None:
        """Add an entry."""
        self.entries.append((at, kind, subject, what))

    def flush(self) -> None:
        """There is no file."""


class SimProber:
    """`flexlet.ports.prober.Prober` without a network: `answers` says who answers, by port."""

    def __init__(self) -> None:
        self.answers: dict[int, Answer] = {}

    async def ask(self, request: HttpRequest | TcpRequest | GrpcRequest, timeout_s: float) -> Answer:
        """What was put there for the port; else nobody listens."""
        del timeout_s
        refused = Answer(result="failure", output=f"dial tcp {request.host}:{request.port}: connection refused")
        return self.answers.get(request.port, refused)

    async def call(self, request: HttpRequest | TcpRequest, timeout_s: float) -> str:
        """A hook: empty if somebody listens."""
        answer = await self.ask(request, timeout_s)
        return "" if answer.result == "success" else answer.output
