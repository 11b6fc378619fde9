"""How fast the API server's storage is: writes with and without company, splicing a list, fanning out events.

Run alone with `python -m bench.store`. Numbers depend on the disk: with synchronous=FULL a lone writer waits
for it on every write, sixty-four share each wait.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from flexlet.apiserver.store import Options, Store, splice
from flexlet.apiserver.store.database import Synchronous

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Result: TypeAlias = tuple[str, float, str]

OPENING = splice.opening_of("Pod", "v1")
FILLER = b"x" * 2900


def pod(revision: int) -> bytes:
    """A stand-in for a stored pod: 3 KB that carry their revision."""
    return b'%s"metadata":{"resourceVersion":"%d"},"filler":"%s"}' % (OPENING, revision, FILLER)


async def fill(store: Store, count: int, writers: int) -> float:
    """Create `count` pods from `writers` tasks; seconds it took."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await store.create("pods", f"default/web-{number:06}", pod)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(writers):
            group.create_task(work())
    return time.perf_counter() - began


async def writes(path: Path, writers: int, synchronous: Synchronous) -> Result:
    """Creates per second, each acknowledged after it is durable."""
    count = 500 * min(writers, 16)
    store = await Store.open(path, Options(synchronous=synchronous))
    seconds = await fill(store, count, writers)
    await store.close()
    return (f"store: creates of 3 KB, {writers} writers, {synchronous}", count / seconds, "writes/s")


async def splicing(path: Path) -> Result:
    """The body of a list of 5,000 pods from their stored bytes."""
    store = await Store.open(path, Options(synchronous="OFF"))
    await fill(store, 5000, 64)
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        splice.list_body(b'{"kind":"PodList","apiVersion":"v1",', store.list("pods"), OPENING)
        best = min(best, time.perf_counter() - began)
    await store.close()
    return ("store: list body of 5,000 pods", best * 1000, "ms")


async def fan_out(path: Path, watchers: int = 100, events: int = 1000) -> Result:
    """Events delivered per second to a hundred watchers of one bucket, writing included."""
    store = await Store.open(path, Options(synchronous="OFF"))

    async def consume() -> None:
        seen = 0
        with store.watch("pods", after_revision=0, maxsize=events) as watcher:
            while seen < events:
                seen += len(await watcher.batch())

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(watchers):
            group.create_task(consume())
        await fill(store, events, 64)
    seconds = time.perf_counter() - began
    await store.close()
    return (f"store: watch fan-out to {watchers}", watchers * events / seconds, "events/s")


def run() -> list[Result]:
    """All measurements of the store: name, number, unit."""
    measurements: list[Callable[[Path], Coroutine[Any, Any, Result]]] = [
        lambda path: writes(path, 1, "FULL"),
        lambda path: writes(path, 64, "FULL"),
        lambda path: writes(path, 1, "NORMAL"),
        lambda path: writes(path, 64, "NORMAL"),
        splicing,
        fan_out,
    ]
    with tempfile.TemporaryDirectory() as folder:
        return [asyncio.run(measure(Path(folder) / f"{number}.db")) for number, measure in enumerate(measurements)]


if __name__ == "__main__":
    for name, value, unit in run():
        print(f"{name:48} {value:12,.1f} {unit}")
