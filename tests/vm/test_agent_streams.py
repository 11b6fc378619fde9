"""What kubectl does with a container, through API server and node: its logs, commands in it, its ports."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.vm.node import PATIENCE_S, Hands, Node, container, eventually, run_of, runs

KUBECTL = Path(__file__).parents[2] / ".cache/bin/kubectl-v1.36.3"
pytestmark = [
    pytest.mark.vm,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not KUBECTL.exists(), reason="needs kubectl: tools/kubernetes/build"),
]
# Says something, answers on a port, and ends when a file appears; what it says differs from run to run.
SCRIPT = """
echo "run $(cat /kept/runs 2>/dev/null)"; echo again >>/kept/runs
mkdir -p /tmp/web; echo page >/tmp/web/page; busybox httpd -p 8080 -h /tmp/web
trap 'exit 0' TERM
until [ -e /tmp/end ]; do sleep 1 & wait $!; done
echo bye
"""


async def _start(node: Node, *words: str, **more: Any) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    line = [str(KUBECTL), "--kubeconfig", str(node.kubeconfig), *words]
    return await asyncio.create_subprocess_exec(*line, stdout=pipe, stderr=subprocess.STDOUT, **more)


async def _kubectl(node: Node, *words: str, text: bytes = b"") -> tuple[int | None, bytes]:
    process = await _start(node, *words, stdin=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE_S):
        said, _ = await process.communicate(text)
    return process.returncode, said


async def test_logs_exec_and_ports(node: Node, hands: Hands) -> None:
    mounts, volumes = [{"name": "kept", "mountPath": "/kept"}], [{"name": "kept", "emptyDir": {}}]
    found = await hands.start("spoken", container(script=SCRIPT, volumeMounts=mounts), volumes=volumes)
    assert await _kubectl(node, "exec", "spoken", "--", "echo", "there") == (0, b"there\n")
    assert await _kubectl(node, "exec", "-i", "spoken", "--", "cat", text=b"in and out") == (0, b"in and out")
    code, said = await _kubectl(node, "exec", "spoken", "--", "sh", "-c", "echo no >&2; exit 7")
    assert (code, said.splitlines()[0]) == (7, b"no")
    assert await _forwarded(node) == b"HTTP/1.1 200 OK"

    following = await _start(node, "logs", "-f", "spoken")
    assert following.stdout is not None
    assert await following.stdout.readline() == b"run \n"
    await hands.within(found, "c", "touch /tmp/end")
    async with asyncio.timeout(PATIENCE_S):
        assert await following.stdout.read() == b"bye\n"
        assert await following.wait() == 0
    first = run_of(found, "c")
    found = await hands.until(
        "it runs again", "spoken", lambda now: runs(now)["c"]["ready"] and run_of(now, "c") != first
    )
    assert await _kubectl(node, "logs", "spoken", "--previous") == (0, b"run \nbye\n")

    async def said_again() -> bool:
        return await _kubectl(node, "logs", "spoken") == (0, b"run again\n")

    await eventually(said_again)
    assert runs(found)["c"]["lastState"]["terminated"]["exitCode"] == 0
    await hands.delete("spoken")


async def _forwarded(node: Node) -> bytes:
    """The first line that the pod's web server says through ``kubectl port-forward``."""
    process = await _start(node, "port-forward", "pod/spoken", ":8080")
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = (await process.stdout.readline()).decode()
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", int(line.split("127.0.0.1:")[1].split()[0])
            )
            writer.write(b"GET /page HTTP/1.0\r\n\r\n")
            answer = (await reader.readline()).strip()
            writer.close()
            await writer.wait_closed()
        return answer
    finally:
        process.terminate()
        await process.wait()
