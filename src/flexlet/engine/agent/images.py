"""Removes images that nobody needs when their file system fills up, or when they were not used for long.

What is in use is read from the loop's world, which knows every container of the runtime once all sources of pods
were heard and strangers adopted. Trouble is told when it comes twice in a row, as the kubelet tells it.
"""

from collections.abc import Callable, Iterable
from typing import Final

from flexlet.core import imagegc
from flexlet.core.actions import RecordEvent
from flexlet.core.imagegc import ImagePolicy, ImageUse
from flexlet.core.machine.machine import Machine
from flexlet.core.runtime.shown import Image
from flexlet.core.stats.readings import FsReading
from flexlet.engine.agent import measuring
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.measuring import FULL, Gauge
from flexlet.engine.agent.selfview import SelfView
from flexlet.errors import FlexletError, RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.meters import Meters
from flexlet.ports.runtime import Images

_SPACE: Final = "space"
_AGE: Final = "age"


class ImageKeeper:
    """The images of one node; `run` it in a task group."""

    def __init__(
        self,
        policy: ImagePolicy,
        runtime: Images,
        gauge: Gauge,
        loop: AgentLoop,
        selfview: SelfView,
        machine: Callable[[], Machine],
        clock: Clock,
        meters: Meters,
    ) -> None:
        self._policy = policy
        self._runtime = runtime
        self._gauge = gauge
        self._loop = loop
        self._selfview = selfview
        self._machine = machine
        self._clock = clock
        self._meters = meters
        self._began = clock.now()
        self._uses: dict[str, ImageUse] = {}
        self._failed = False

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            problem = await self._collect()
            if problem and self._failed:
                self._tell("ImageGCFailed", problem)
            self._failed = bool(problem)
            await self._clock.sleep(imagegc.PERIOD_S)

    async def free_all(self) -> None:
        """Remove every image that may go; RuntimeFault if the runtime cannot be asked."""
        now = self._clock.now()
        ordered = await self._in_order(now)
        await self._remove(imagegc.ripe(ordered, self._uses, self._policy, now), imagegc.EVERYTHING, _SPACE)

    async def _collect(self) -> str:
        """One pass; what went wrong, empty if nothing did."""
        try:
            return await self._pass()
        except RuntimeFault as fault:
            return fault.detail
        except FlexletError as error:
            return str(error)

    async def _pass(self) -> str:
        now = self._clock.now()
        ordered = await self._in_order(now)
        if self._policy.is_idle:
            return ""
        old = imagegc.outdated(ordered, self._uses, self._policy, self._began, now)
        await self._remove(old, imagegc.EVERYTHING, _AGE)
        fs = await self._filesystem()
        if fs is None or not fs.capacity:
            return "invalid capacity 0 on image filesystem"
        wanted = imagegc.to_free(fs.capacity, fs.available or 0, self._policy)
        if wanted <= 0:
            return ""
        left = [image for image in ordered if image not in old]
        freed = await self._remove(imagegc.ripe(left, self._uses, self._policy, now), wanted, _SPACE)
        if freed >= wanted:
            return ""
        text = imagegc.not_enough(fs.capacity, fs.available or 0, freed)
        self._tell("FreeDiskSpaceFailed", text)
        return text

    async def _in_order(self, now: float) -> list[Image]:
        images = await self._runtime.images()
        names = imagegc.names_in_use(self._loop.world.pods.values())
        self._uses = imagegc.looked(self._uses, images, names, now)
        return imagegc.in_order(images, self._uses, names)

    async def _filesystem(self) -> FsReading | None:
        source = measuring.source(self._loop.world, self._machine())
        found = (await self._gauge.measure(source, FULL)).image_fs
        if found is not None:
            self._selfview.tell(image_capacity=found.capacity)
        return found

    async def _remove(self, images: Iterable[Image], wanted: int, reason: str) -> int:
        """Until so many bytes are freed; those whose pods came meanwhile stay."""
        freed = 0
        for image in images:
            if freed >= wanted:
                break
            if imagegc.is_used(image, imagegc.names_in_use(self._loop.world.pods.values())):
                continue
            await self._runtime.remove_image(image.id)
            self._meters.count("kubelet_image_garbage_collected_total", {"reason": reason})
            freed += image.size
        return freed

    def _tell(self, reason: str, message: str) -> None:
        name = self._loop.world.setup.name
        about = {"kind": "Node", "apiVersion": "v1", "name": name, "uid": name}
        event = RecordEvent(about=about, type="Warning", reason=reason, message=message, component="kubelet")
        self._loop.announce([event])
