"""Launchers of any cluster: each line is one long ``pods/exec`` of ``flexlet vm-launcher talk``.

Nothing but the API server needs to be reached, so that it works with every node and every network. Credentials are
read anew for each line, because those of a pod's account change.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from flexlet.adapters.kube import execstatus
from flexlet.adapters.kube.exec import Exec, Process
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.api.status import ApiError
from flexlet.core.vm import control, names
from flexlet.core.vm.guest import Order, Report
from flexlet.errors import HypervisorGone, InputError
from flexlet.ports.vmguest import GuestLink

TALK: Final = ("flexlet", "vm-launcher", "talk")
_COMPLAINT: Final = 2000
"""So much of what was said on stderr goes into the message."""


class ExecLinks:
    """The GuestLinks port; `credentials` says who we are, each time a line is opened."""

    def __init__(self, credentials: Callable[[], Credentials], user_agent: str = "flexlet") -> None:
        self._credentials = credentials
        self._user_agent = user_agent

    @contextlib.asynccontextmanager
    async def open(self, namespace: str, pod: str) -> AsyncIterator[GuestLink]:
        """A line to the launcher in this pod; HypervisorGone if the cluster does not let us through."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                credentials = await asyncio.to_thread(self._credentials)
                client = await stack.enter_async_context(Exec(credentials, self._user_agent))
                process = await stack.enter_async_context(client.start(namespace, pod, names.CONTAINER, TALK))
            except ApiError as error:
                raise _gone(namespace, pod, str(error)) from error
            yield ExecLink(process, namespace, pod)


class ExecLink:
    """The GuestLink port on a running ``talk``."""

    def __init__(self, process: Process, namespace: str, pod: str) -> None:
        self._process = process
        self._namespace = namespace
        self._pod = pod

    async def order(self, order: Order) -> None:
        """Send it."""
        try:
            await self._process.write(control.line(order))
        except ApiError as error:
            raise _gone(self._namespace, self._pod, str(error)) from error

    async def reports(self) -> AsyncIterator[Report]:
        """What the launcher reports, until its machine has ended.

        A kube-apiserver calls it a success when a node breaks off, so only the launcher's own word counts.
        """
        rest, complaint, has_ended = b"", b"", False
        try:
            async for channel, data in self._process.output():
                if channel == execstatus.STDERR:
                    complaint = (complaint + data)[-_COMPLAINT:]
                    continue
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    report = control.report(line)
                    has_ended = report.run_state == "Ended"
                    yield report
                if len(rest) > control.LINE_LIMIT:
                    raise InputError(f"a line of more than {control.LINE_LIMIT} bytes")
            code = self._process.exit_code()
        except (ApiError, InputError) as error:
            raise _gone(self._namespace, self._pod, str(error)) from error
        if code != 0:
            said = complaint.decode(errors="replace").strip() or "it did not say why"
            raise _gone(self._namespace, self._pod, f"`{' '.join(TALK)}` ended with code {code}: {said}")
        if not has_ended:
            raise _gone(self._namespace, self._pod, "it broke off before the machine had ended")


def _gone(namespace: str, pod: str, why: str) -> HypervisorGone:
    return HypervisorGone(f"no line to the launcher in {namespace}/{pod}: {why}")
