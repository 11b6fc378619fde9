"""What an agent holds its ports by: counted, and cut when it dies."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from flexlet.testing import run
from flexlet.testing.lifeline import Lifeline


class Port:
    """Something to hold."""

    name = "port"

    def __init__(self) -> None:
        self.written: list[str] = []

    async def write(self, text: str) -> str:
        self.written.append(text)
        return text

    async def read(self) -> list[str]:
        return self.written

    async def fail(self) -> None:
        raise ValueError("no")

    async def changes(self) -> AsyncIterator[str]:
        for each in ("a", "b"):
            yield each


def test_a_port_is_as_it_is() -> None:
    """Answers, failures, streams and attributes pass; ended calls are counted."""

    async def story() -> tuple[object, ...]:
        line, port = Lifeline(), Port()
        held = line.hold("port", port)
        with pytest.raises(ValueError, match="no"):
            await held.fail()
        answers = (await held.write("x"), await held.read(), held.name, [each async for each in held.changes()])
        return answers, line.calls

    calls = [("port", "fail"), ("port", "write"), ("port", "read")]
    assert run(story()) == (("x", ["x"], "port", ["a", "b"]), calls)


def test_death_comes_after_the_deed_and_before_the_answer() -> None:
    """Looks do not count; what was done is done, and whoever did it never learns."""

    async def story() -> tuple[list[str], bool, bool]:
        line, port = Lifeline(), Port()
        held = line.hold("port", port)
        line.dies_after = 2

        async def live() -> None:
            for text in "abc":
                await held.read()
                await held.write(text)

        agent = asyncio.ensure_future(live())
        await line.died.wait()
        line.is_over = True
        agent.cancel()
        await asyncio.wait({agent})
        return port.written, line.is_cut, agent.cancelled()

    assert run(story()) == (["a", "b"], True, True)
