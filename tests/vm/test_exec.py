"""Commands in a container of a real node: through the API server, the agent and containerd, by our own client."""

import asyncio

import pytest
from tests.vm.node import NAMESPACE, PATIENCE_S, Hands, Node, container

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.exec import Exec, Process
from flexlet.adapters.kube.execstatus import STDERR, STDOUT
from flexlet.api.status import ApiError

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]
# Answers each line at once, as a launcher answers orders, and says something at the end.
TALK = ["sh", "-c", "while read -r line; do echo got $line; done; echo over >&2; exit 7"]


async def test_a_line_to_a_container(node: Node, hands: Hands) -> None:
    """Both ways while it runs, then the end of its input, what it complains about, and its exit code."""
    await hands.start("line", container())
    async with asyncio.timeout(PATIENCE_S), Exec(kubeconfig.load(node.kubeconfig)) as client:
        async with client.start(NAMESPACE, "line", "c", TALK) as process:
            output = process.output()
            for word in (b"one", b"two"):
                await process.write(word + b"\n")
                assert await anext(output) == (STDOUT, b"got " + word + b"\n")
            await process.end_input()
            assert [piece async for piece in output] == [(STDERR, b"over\n")]
            assert process.exit_code() == 7
        async with client.start(NAMESPACE, "line", "c", ["/no/such/program"]) as process:
            assert [piece async for piece in process.output()] == []
            with pytest.raises(ApiError):
                process.exit_code()
        with pytest.raises(ApiError, match="container nobody is not valid for pod line"):
            await client.start(NAMESPACE, "line", "nobody", ["true"]).__aenter__()
    await hands.delete("line")


async def test_a_container_that_ends_ends_its_lines(node: Node, hands: Hands) -> None:
    """Whoever reads is told so: how the command ended or that the line broke, whichever is quicker."""
    await hands.start("ending", container())
    async with (
        asyncio.timeout(PATIENCE_S),
        Exec(kubeconfig.load(node.kubeconfig)) as client,
        client.start(NAMESPACE, "ending", "c", ["cat"]) as process,
    ):
        output = process.output()
        await process.write(b"there\n")
        assert await anext(output) == (STDOUT, b"there\n")
        await hands.delete("ending")
        assert await _end(process) in {137, 500, 503}


async def _end(process: Process) -> int:
    """The exit code of a command, or the code of the error with which its line broke."""
    try:
        assert [piece async for piece in process.output()] == []
        return process.exit_code()
    except ApiError as broken:
        return broken.code
