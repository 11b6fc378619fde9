"""NodeSizes, nodes and pods in a line each, and scenes made of them."""

from typing import Any

import msgspec

from flexlet.api.units import GIB
from flexlet.core.nodesize import names, sizes
from flexlet.core.nodesize.modes import Verdict
from flexlet.core.nodesize.objects import Base, NodeSize, NodeSizeSpec, NodeSizeStatus, Progress, Target
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.settings import Settings
from flexlet.core.nodesize.sights import Balloon, NodeSight
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.observations import Seen
from flexlet.core.refs import NODES, PODS

NOW = 1_800_000_000.0


def amounts(cpu: float, gib: float) -> Amounts:
    return {"cpu": round(cpu * 1000), "memory": int(gib * GIB)}


def listed(cpu: float, gib: float) -> dict[str, str]:
    return {r: str(text) for r, text in sizes.listed(amounts(cpu, gib)).items()}


def seen(ref: tuple[str, str, str], body: dict[str, Any]) -> Seen:
    return Seen(ref, msgspec.json.encode(body))


def size(name: str = "n1", generation: int = 1, **spec: Any) -> Seen:
    meta = {"name": name, "uid": f"size-{name}", "generation": generation, "finalizers": [names.FINALIZER]}
    return seen(names.NODE_SIZES, {"metadata": meta, "spec": spec})


def node(name: str = "n1", cpu: float = 15, gib: float = 60, *, native: bool = False, **annotations: str) -> Seen:
    notes = {**annotations, **({names.AGENT: "1"} if native else {})}
    status = {
        "capacity": listed(cpu, gib),
        "allocatable": listed(cpu, gib),
        "nodeInfo": {"kubeletVersion": "v1.36.3", "operatingSystem": "linux"},
    }
    meta = {"name": name, "uid": f"node-{name}", "resourceVersion": "1", "annotations": notes}
    return seen(NODES, {"metadata": meta, "status": status})


def pod(name: str, cpu: float, gib: float, node: str = "n1", **status: Any) -> Seen:
    container = {"name": "c", "resources": {"requests": listed(cpu, gib)}}
    meta = {"name": name, "namespace": "default", "uid": f"pod-{name}"}
    body = {"metadata": meta, "spec": {"nodeName": node, "containers": [container]}, "status": status}
    return seen(PODS, body)


def balloon(spec: Amounts, allocated: Amounts | None, name: str = "b", **parts: Any) -> Balloon:
    return Balloon(
        uid=f"uid-{name}",
        name=name,
        namespace=names.NAMESPACE,
        node="n1",
        created=parts.pop("created", "2027-01-01T00:00:00Z"),
        resource_version="1",
        spec=spec,
        allocated=allocated,
        actual=allocated or dict(sizes.NOTHING),
        **parts,
    )


def scene(
    target: Amounts,
    *balloons: Balloon,
    workload: Amounts,
    progress: tuple[Progress, ...] = (),
    allocatable: Amounts | None = None,
    **spec: Any,
) -> Scene:
    whole = allocatable or amounts(15, 60)
    wish = Target(balloon=sizes.listed(target))
    before = sizes.listed((balloons[0].allocated if balloons else None) or sizes.FLOOR)
    start = Base(target=wish, allocatable=sizes.listed(whole), balloon=wish.balloon or {}, before=before)
    status = NodeSizeStatus(progress=progress, base=start, pod=balloons[0].uid if balloons else "")
    wanted = NodeSize(spec=NodeSizeSpec(target=wish, **spec), status=status)
    sight = NodeSight(name="n1", uid="node", resource_version="1", capacity=whole, allocatable=whole)
    return Scene(
        size=wanted,
        node=sight,
        balloons=balloons,
        workload=workload,
        granted=workload,
        settings=Settings(),
        verdict=Verdict("stock"),
    )
