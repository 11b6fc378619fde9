"""Asking containers over the network how they are."""

from typing import Protocol

from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing.targets import GrpcRequest, HttpRequest, TcpRequest


class Prober(Protocol):
    """Sends one question and says what came back; nothing that a container does makes it raise."""

    async def ask(self, request: HttpRequest | TcpRequest | GrpcRequest, timeout_s: float) -> Answer:
        """The answer to a probe, within `timeout_s`."""
        ...

    async def call(self, request: HttpRequest | TcpRequest, timeout_s: float) -> str:
        """Carry out a lifecycle hook; empty if it succeeded, else why not."""
        ...
