"""Resizes in namespaces with bounds: what a LimitRange or a ResourceQuota allows is done, the rest is refused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import World, is_ready, is_resized, world
from tests.scenarios.agent_resize.stage import words, written

from flexlet.api.status import ApiError
from flexlet.apiserver.admission.resource_quota import counting_of
from flexlet.apiserver.housekeeping.quota import QuotaKeeper
from flexlet.apiserver.upkeep import namespaced
from flexlet.core.gates import DEFAULTS
from flexlet.ports.cluster import Ref
from flexlet.testing import run

Json = dict[str, Any]

START = "300m,300Mi / 300m,300Mi"
RANGE: Json = {
    "metadata": {"name": "range"},
    "spec": {
        "limits": [
            {
                "type": "Container",
                "max": {"cpu": "500m", "memory": "500Mi"},
                "min": {"cpu": "50m", "memory": "50Mi"},
            }
        ]
    },
}
QUOTA: Json = {
    "metadata": {"name": "quota"},
    "spec": {"hard": {"requests.cpu": "800m", "requests.memory": "800Mi"}},
}

IN_A_RANGE = {
    "more cpu than allowed": ("600m,300Mi", "maximum cpu usage per Container is 500m"),
    "more memory than allowed": ("300m,600Mi", "maximum memory usage per Container is 500Mi"),
    "more of both than allowed": ("600m,600Mi", "maximum cpu usage per Container is 500m"),
    "less cpu than allowed": ("10m,300Mi", "minimum cpu usage per Container is 50m"),
    "less memory than allowed": ("300m,10Mi", "minimum memory usage per Container is 50Mi"),
    "less of both than allowed": ("10m,10Mi", "minimum cpu usage per Container is 50m"),
    "cpu up": ("400m,300Mi", ""),
    "memory up": ("300m,400Mi", ""),
    "both up": ("400m,400Mi", ""),
    "cpu down": ("200m,300Mi", ""),
    "memory down": ("300m,200Mi", ""),
    "both down": ("200m,200Mi", ""),
}
WITHIN_A_QUOTA = {
    "more cpu than is left": ("600m,300Mi", "exceeded quota: quota, requested: requests.cpu=300m"),
    "more memory than is left": ("300m,600Mi", "exceeded quota: quota, requested: requests.memory=300Mi"),
    "more of both than is left": ("600m,600Mi", "exceeded quota: quota, requested: requests.cpu=300m"),
    "cpu": ("400m,300Mi", ""),
    "memory": ("300m,400Mi", ""),
    "both": ("400m,400Mi", ""),
}


async def attempt(there: World, amount: str) -> tuple[str, str, str]:
    """What the server says to a resize, what the pod has then, and its memory limit in the kernel."""
    wish = written(f"{amount} / {amount}")
    said = ""
    try:
        await there.cluster.resize("p", {"spec": {"containers": [{"name": "c", "resources": wish}]}})
    except ApiError as error:
        said = str(error)
    pod = await there.until("p", is_resized)
    files = there.node.pod_cgroups(pod["metadata"]["uid"])["c"]
    return said, words(pod["status"]["containerStatuses"][0]["resources"]), files["memory.max"]


def expected(amount: str, refusal: str) -> tuple[str, str]:
    """What the pod has afterwards."""
    size = START if refusal else f"{amount} / {amount}"
    return size, str(int(size.rpartition(",")[2].removesuffix("Mi")) << 20)


@pytest.mark.parametrize("name", IN_A_RANGE)
def test_a_limit_range_bounds_resizes(name: str, tmp_path: Path) -> None:
    """The bounds are per container, upwards and downwards."""
    amount, refusal = IN_A_RANGE[name]

    async def story() -> tuple[str, str, str]:
        async with world(tmp_path) as there:
            await there.cluster.create(Ref("", "v1", "limitranges"), RANGE)
            await there.create("p", {"c": written(START)})
            await there.until("p", is_ready)
            return await attempt(there, amount)

    said, *found = run(story())
    assert refusal in said
    assert bool(refusal) == bool(said)
    assert tuple(found) == expected(amount, refusal)


@pytest.mark.parametrize("name", WITHIN_A_QUOTA)
def test_a_quota_bounds_resizes(name: str, tmp_path: Path) -> None:
    """What all pods of the namespace request together counts."""
    amount, refusal = WITHIN_A_QUOTA[name]

    async def story() -> tuple[str, str, str]:
        async with world(tmp_path) as there:
            registry = there.cluster.rest.registry
            keeper = QuotaKeeper(
                there.cluster.cluster, there.cluster.clock, lambda: namespaced(registry), counting_of(DEFAULTS)
            )
            counting = asyncio.ensure_future(keeper.run())
            await there.cluster.create(Ref("", "v1", "resourcequotas"), QUOTA)
            await asyncio.sleep(1)
            for each, size in (("p", START), ("other", "300m,300Mi")):
                await there.create(each, {"c": written(size)})
                await there.until(each, is_ready)
            try:
                return await attempt(there, amount)
            finally:
                counting.cancel()

    said, *found = run(story())
    assert refusal in said
    assert bool(refusal) == bool(said)
    assert tuple(found) == expected(amount, refusal)
