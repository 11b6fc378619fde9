"""The runtime's contract on a real node: ``python3 -m flexlet.testing.contract_runtime --socket PATH``.

Needs root, cgroup v2, and an image with a shell (`--image`). Pods run on the node's own network, so that no
network plugin is needed; everything is removed in the end.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from flexlet.adapters import cri
from flexlet.adapters.cgroupfs.oomscores import OomScores
from flexlet.adapters.cgroupfs.tree import CgroupfsTree
from flexlet.adapters.cri.runtime import CriRuntime
from flexlet.testing.checks import run
from flexlet.testing.runtime_bench import RuntimeBench
from flexlet.testing.runtime_checks import CHECKS


class RealBench:
    """A runtime behind a socket, and the kernel below it."""

    def __init__(self, runtime: CriRuntime, image: str, log_directory: str) -> None:
        self.runtime = runtime
        self.tree = CgroupfsTree()
        self.image = image
        self.log_directory = log_directory

    async def read_file(self, path: str) -> str:
        """A file of the node."""
        return await asyncio.to_thread(Path(path).read_text)

    async def oom_scores(self, cgroup: str) -> set[int]:
        """The scores of the processes in a cgroup."""
        return set((await OomScores().read(await self.tree.processes(cgroup))).values())

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)


def bench(runtime: CriRuntime, image: str, logs: str) -> RuntimeBench:
    """A bench on a connected runtime."""
    return RealBench(runtime, image, logs)


async def main(socket: str, image: str, only: str) -> int:
    """Check them all; the number that failed."""
    checks = [check for check in CHECKS if only in check.__name__]
    with tempfile.TemporaryDirectory(prefix="flexlet-contract-") as logs:
        async with await cri.connect(socket) as runtime:
            return await run(bench(runtime, image, logs), checks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Check that a container runtime keeps flexlet's contract.")
    parser.add_argument("--socket", default=cri.CONTAINERD, help="where it listens")
    parser.add_argument("--image", default="busybox:1", help="an image with a shell that it has")
    parser.add_argument("--only", default="", help="run only checks whose name contains this")
    options = parser.parse_args()
    sys.exit(min(1, asyncio.run(main(options.socket, options.image, options.only))))
