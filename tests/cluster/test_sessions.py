"""Sessions recorded with the real control plane print the same with flexlet."""

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster import sessions
from tests.cluster.kubectl import Kubectl
from tests.cluster.sessions import Step
from tests.servers import Running

pytestmark = pytest.mark.cluster

NAMES = sorted({path.stem for path in sessions.SESSIONS.glob("*/*.session")})


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_a_session_goes_as_recorded(name: str, server: Running, connect: Callable[[Path, str], Kubectl]) -> None:
    """Every command ends with the same code and, where this release was recorded, prints the same lines."""
    kubectl = connect(server.kubeconfig, sessions.NAMESPACE)
    sessions.prepare(kubectl)
    steps, same_release = sessions.recorded(name, kubectl.version)
    done = [sessions.perform(kubectl, step.command) for step in steps]
    show = sessions.render if same_release else ended
    wanted, found = "".join(map(show, steps)), "".join(map(show, done))
    if wanted != found:
        lines = difflib.unified_diff(wanted.splitlines(), found.splitlines(), "recorded", "flexlet", lineterm="")
        pytest.fail("\n".join(lines), pytrace=False)


def ended(step: Step) -> str:
    return f"{step.command} [{step.answer.code}]\n"
