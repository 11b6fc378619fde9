"""Recorded sessions: what kubectl printed against a real kube-apiserver 1.36.3, replayed against flexlet.

A session is a file one can read::

    $ kubectl get configmap nope
    ! Error from server (NotFound): configmaps "nope" not found
    [1]

A line with ``$`` is a command, the lines below are its output, those with ``!`` what went to stderr, and a number
in brackets is an exit code other than 0. Whatever differs from run to run (times, ages, uids, versions) stands
there in its general form. Each release of kubectl has its own recordings. To record one again, start a real
control plane (API server and controller manager, no scheduler, no nodes) and run
``python -m tests.cluster.sessions KUBECONFIG KUBECTL SESSION...``.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cluster.kubectl import Answer, Kubectl, Program

NAMESPACE = "session"
MANIFESTS = Path(__file__).parent / "manifests"
SESSIONS = Path(__file__).parent / "sessions"

GENERAL = (
    # What client-go logs of itself, and only if it is quick enough to: "E1116 04:02:25.943280  194 a.go:227] ..."
    (r"(?m)^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\].*\n?", ""),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
    (r'(resourceVersion"?: |Resource Version: +)"?\d+"?', r"\1<version>"),
    (r'resourceVersion\\":\\"\d+\\"', r"resourceVersion\":\"<version>\""),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "<time>"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<date>"),
    (r"(kube-api-access|debugger)-[a-z0-9]{5}", r"\1-<rand>"),
    (r"X509SHA256=[0-9a-f]{64}", "X509SHA256=<hash>"),
    (r"(LIVE|MERGED|kubectl-edit)-\d+", r"\1-<rand>"),
    (r',\\"managedFields\\":\[.*?\](?=\})', ""),  # flexlet keeps none
    (r", application/apply-patch\+yaml", ""),  # flexlet does not serve it
    (r"(?<![\w.:/-])(\d+d)?(\d+h)?(\d+m)?\d+s(?![\w-])", "<age>"),
    (r"https://127\.0\.0\.1:\d+", "https://<server>"),
    (r" deleted from \S+ namespace", " deleted"),  # what newer releases add
)


class Step(NamedTuple):
    """A command and what it did."""

    command: str
    answer: Answer


def general(text: str) -> str:
    """A text without what differs from run to run; the width of columns is one such thing."""
    for pattern, replacement in GENERAL:
        text = re.sub(pattern, replacement, text)
    lines = (re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in text.split("\n"))
    return "\n".join(lines).rstrip("\n")


def parse(text: str) -> Iterator[Step]:
    """The steps of a session; lines before the first command are for the reader."""
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, rest = block.partition("\n")
        out: list[str] = []
        err: list[str] = []
        code = 0
        for line in rest.rstrip("\n").split("\n"):
            if re.fullmatch(r"\[\d+\]", line):
                code = int(line[1:-1])
            elif line.startswith("!"):
                err.append(line[2:])
            else:
                out.append(line)
        yield Step(command, Answer(code, "\n".join(out), "\n".join(err)))


def render(step: Step) -> str:
    """The text of a step."""
    code, out, err = step.answer
    lines = [f"$ {step.command}", *(out.split("\n") if out else ())]
    lines += [f"! {line}".rstrip() for line in err.split("\n")] if err else []
    lines += [f"[{code}]"] if code else []
    return "\n".join(lines) + "\n"


def perform(kubectl: Kubectl, command: str) -> Step:
    """Run a command among the manifests."""
    answer = kubectl.run(command, cwd=MANIFESTS)
    return Step(command, Answer(answer.code, general(answer.out), general(answer.err)))


def prepare(kubectl: Kubectl) -> None:
    """The namespace every session works in."""
    kubectl(f"create namespace {NAMESPACE}")
    kubectl("wait --for=create serviceaccount/default configmap/kube-root-ca.crt --timeout=20s")


def recorded(name: str, version: tuple[int, int]) -> tuple[list[Step], bool]:
    """A session by name, and whether it was recorded with this release; else the newest one, for its codes."""
    own = SESSIONS / "v{}.{}".format(*version) / f"{name}.session"
    found = own if own.exists() else max(SESSIONS.glob(f"*/{name}.session"))
    return list(parse(found.read_text())), own.exists()


def record(kubectl: Kubectl, path: Path) -> None:
    """Write what the session's commands do now."""
    text = path.read_text()
    head = text[: re.search(r"^\$ ", text, re.MULTILINE).start()]  # type: ignore[union-attr]
    path.write_text(head + "".join(render(perform(kubectl, step.command)) for step in parse(text)))


if __name__ == "__main__":
    for name in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as home:
            real = Kubectl(Program(Path(sys.argv[2]).resolve(), (0, 0)), Path(sys.argv[1]), Path(home), NAMESPACE)
            prepare(real)
            record(real, Path(name))
            real(f"delete namespace {NAMESPACE}")
