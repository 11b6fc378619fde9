"""See to it that an image is here, as the pull policy says, one pull at a time unless told otherwise.

Pulls wait in line for the runtime (`serial`), and not more than so many begin in a second. Credentials are tried
one after another; without any the image is pulled without. Follows the kubelet's image manager.
"""

import asyncio
from typing import Final

from flexlet.core.agent.containers import images, keyring, sandbox
from flexlet.core.agent.containers.contents import Problem, joined
from flexlet.core.agent.deeds import PullImage
from flexlet.core.agent.observations import Done, Failed, Outcome, PullBegan
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.runtime.configs import PullCredentials, SandboxConfig
from flexlet.core.runtime.shown import Image
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import RuntimeFault
from flexlet.ports.clock import Clock

ALWAYS: Final = "Always"
NEVER: Final = "Never"


class Tokens:
    """So many pulls in a second, and `burst` at once; a rate of 0 allows any number."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        self._qps = qps
        self._burst = float(burst)
        self._clock = clock
        self._left = self._burst
        self._at = clock.monotonic()

    def take(self) -> bool:
        """Whether there is one left; nobody waits."""
        if self._qps <= 0:
            return True
        now = self._clock.monotonic()
        self._left = min(self._left + (now - self._at) * self._qps, self._burst)
        self._at = now
        allowed = self._left >= 1
        self._left -= allowed
        return allowed


class Puller:
    """The line of those who wait for an image."""

    def __init__(self, tools: Tools, parallel: int | None = 1, qps: float = 0.0, burst: int = 10) -> None:
        self._tools = tools
        self._line = asyncio.Semaphore(parallel) if parallel else None
        self._tokens = Tokens(qps, burst, tools.clock)

    async def pull(self, deed: PullImage, record: PodRecord, world: World) -> Outcome:
        """Done with what the image is known by."""
        name = images.normalized(deed.image)
        if isinstance(name, Problem):
            return Failed(reason="InvalidImageName", message=name.message)
        try:
            found = await self._tools.runtime.image(name) if deed.policy != ALWAYS else None
        except RuntimeFault as fault:
            return Failed(reason="ImageInspectError", message=f'Failed to inspect image "": {_rpc_text(fault)}')
        if found is not None:
            return _here(found)
        if deed.policy == NEVER:
            text = f'Container image "{deed.image}" is not present with pull policy of Never'
            return Failed(reason="ErrImageNeverPull", message=text)
        return await self._fetch(name, deed, record, world)

    async def _fetch(self, name: str, deed: PullImage, record: PodRecord, world: World) -> Outcome:
        config = sandbox.sandbox_config(sandbox.as_allocated(record, world.setup), world.setup, 0)
        around = None if isinstance(config, Problem) else config
        material = await self._tools.objects.material(record.pod, keyring.references(record.pod))
        credentials = keyring.credentials(record.pod, material, name)
        if isinstance(credentials, Problem):
            return Failed(reason="ErrImagePull", message=credentials.message)
        absent = keyring.missing(record.pod, material)
        began = PullBegan(
            uid=deed.uid,
            container=deed.container,
            volume=deed.volume,
            image=deed.image,
            absent_secrets=absent,
        )
        self._tools.tell(began)
        asked = self._tools.clock.monotonic()
        if self._line is None:
            return await self._try(name, deed, credentials, around, asked)
        async with self._line:
            return await self._try(name, deed, credentials, around, asked)

    async def _try(
        self,
        name: str,
        deed: PullImage,
        credentials: tuple[PullCredentials, ...],
        around: SandboxConfig | None,
        asked: float,
    ) -> Outcome:
        if not self._tokens.take():
            return Failed(reason="ErrImagePull", message="pull QPS exceeded")
        began = self._tools.clock.monotonic()
        faults: list[str] = []
        for each in credentials or (None,):
            try:
                ref = await self._tools.runtime.pull(name, each, around)
            except RuntimeFault as failed:
                faults.append(_pull_text(failed))
                continue
            image = await self._tools.runtime.image(ref)
            return _pulled(ref, image, began - asked)
        error = joined([Problem(each) for each in faults]).message
        problem = images.pull_problem(deed.image, error)
        return Failed(reason=problem.subject, message=problem.message, detail=error)


def _pull_text(fault: RuntimeFault) -> str:
    """An unknown kind of error is only its text, so that runtimes can tell the kind in it."""
    return fault.detail if fault.code == "Unknown" else _rpc_text(fault)


def _rpc_text(fault: RuntimeFault) -> str:
    return f"rpc error: code = {fault.code} desc = {fault.detail}"


def _here(image: Image) -> Done:
    return Done(image_ref=image.id, user=image.uid, username=image.username, size=image.size)


def _pulled(ref: str, image: Image | None, waited_s: float) -> Done:
    if image is None:
        return Done(image_ref=ref, pulled=True, waited_s=waited_s)
    return Done(
        image_ref=ref, pulled=True, waited_s=waited_s, user=image.uid, username=image.username, size=image.size
    )
