"""The real kubectl: where it is, which version, and one way to run it.

Two are tried: the one that ``tools/kubernetes/build kubectl`` leaves in ``.cache/bin``, and the one on PATH if it
is 1.32 or newer. Commands run in a shell with ``kubectl`` first on PATH, so that a test can write what a user
types, pipes and editors included.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".cache" / "bin" / "kubectl-v1.36.3"
OLDEST = (1, 32)
NEED = "needs kubectl 1.32 or newer: run `tools/kubernetes/build kubectl` (Go), or put one on PATH"
TIMEOUT_S = 60


class Program(NamedTuple):
    """A kubectl and its minor version."""

    path: Path
    version: tuple[int, int]


class Answer(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def find(which: str) -> Program | None:
    """The ``built`` kubectl or the ``installed`` one; None where there is none that is new enough."""
    installed = shutil.which("kubectl")
    path = BUILT if which == "built" else Path(installed or "/nowhere")
    if not path.exists():
        return None
    asked = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, check=True)
    client = json.loads(asked.stdout)["clientVersion"]
    version = int(client["major"]), int(client["minor"].rstrip("+"))
    return Program(path, version) if version >= OLDEST else None


class Kubectl:
    """A kubectl with a kubeconfig and a home of its own."""

    def __init__(self, program: Program, kubeconfig: Path, home: Path, namespace: str = "default") -> None:
        self.version = program.version
        self.namespace = namespace
        self.home = home
        programs = home / "programs"
        programs.mkdir(parents=True, exist_ok=True)
        (programs / "kubectl").symlink_to(program.path)
        own = home / "kubeconfig"
        shutil.copy(kubeconfig, own)
        self._environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "KUBECONFIG": str(own),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
        }
        self.run(f"kubectl config set-context --current --namespace={namespace}")

    def run(self, command: str, stdin: str | None = None, cwd: Path | None = None) -> Answer:
        """Run a line of shell; whatever it ends with."""
        done = subprocess.run(
            ["bash", "-c", command],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
            env=self._environment,
            cwd=cwd or self.home,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def __call__(self, arguments: str, stdin: str | None = None) -> str:
        """Run ``kubectl ARGUMENTS``, which must succeed; what it printed."""
        answer = self.run(f"kubectl {arguments}", stdin)
        assert answer.code == 0, f"kubectl {arguments}: {answer.err or answer.out}"
        return answer.out

    def lines(self, arguments: str, stdin: str | None = None) -> list[str]:
        """The same, by lines without their ends."""
        return [line.rstrip() for line in self(arguments, stdin).splitlines()]

    def refused(self, arguments: str, stdin: str | None = None, code: int = 1) -> str:
        """Run ``kubectl ARGUMENTS``, which must fail; what it complained."""
        answer = self.run(f"kubectl {arguments}", stdin)
        assert answer.code == code, f"kubectl {arguments} ended with {answer.code}: {answer.err or answer.out}"
        return answer.err.rstrip("\n")

    def popen(self, arguments: str) -> subprocess.Popen[str]:
        """Start ``kubectl ARGUMENTS`` and leave it running, its output in a pipe."""
        return subprocess.Popen(
            ["bash", "-c", f"exec kubectl {arguments}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
            cwd=self.home,
        )
