"""Runs inside a node's machine: what QEMU has plugged into a guest, beside what its pod's cgroup allows.

Prints a line a look: CPU weight and memory limit of the container, then QEMU's own count of vCPUs and bytes, then
weight and limit again. Where the two looks at the cgroup agree, they held at the moment between them.
Arguments: the container's cgroup, and the socket of QEMU's monitor for people.
"""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any, TextIO


def main(cgroup: Path, monitor: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(monitor)
        lines = connection.makefile("rw")
        lines.readline()
        ask(lines, "qmp_capabilities")
        while True:
            before = allowed(cgroup)
            vcpus = len(ask(lines, "query-cpus-fast"))
            sizes = ask(lines, "query-memory-size-summary")
            memory = sizes["base-memory"] + sizes.get("plugged-memory", 0)
            sys.stdout.write(f"{before} {vcpus} {memory} {allowed(cgroup)}\n")
            sys.stdout.flush()
            time.sleep(0.3)


def allowed(cgroup: Path) -> str:
    return " ".join((cgroup / name).read_text().strip() for name in ("cpu.weight", "memory.max"))


def ask(lines: TextIO, command: str) -> Any:
    lines.write(json.dumps({"execute": command}) + "\n")
    lines.flush()
    while "return" not in (answer := json.loads(lines.readline())):
        pass
    return answer["return"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
