"""Each launcher is reached as its node needs it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from flexlet.adapters.vmlink.picked import PickedLinks
from flexlet.api.status import NotFound, Status
from flexlet.errors import HypervisorGone


class Pods:
    """A cluster with two pods."""

    async def get(self, _ref: Any, _namespace: str, name: str) -> bytes:
        if name == "gone":
            raise NotFound(Status(code=404, message='pods "gone" not found'))
        return b'{"spec": {"nodeName": "%s"}}' % (b"hollow-0" if name == "simulated" else b"vm")


class Links:
    """Says its name when a line is opened."""

    def __init__(self, name: str, opened: list[tuple[str, str, str]]) -> None:
        self._name = name
        self._opened = opened

    @contextlib.asynccontextmanager
    async def open(self, namespace: str, pod: str) -> AsyncIterator[Any]:
        self._opened.append((self._name, namespace, pod))
        yield object()


async def test_the_node_of_a_pod_says_which_line() -> None:
    opened: list[tuple[str, str, str]] = []
    links = PickedLinks(Pods(), ["hollow-0"], Links("sim", opened), Links("exec", opened))  # type: ignore[arg-type]
    for pod in ("simulated", "real"):
        async with links.open("default", pod):
            pass
    assert opened == [("sim", "default", "simulated"), ("exec", "default", "real")]
    with pytest.raises(HypervisorGone, match='cannot look at pod default/gone: pods "gone" not found'):
        async with links.open("default", "gone"):
            pass
