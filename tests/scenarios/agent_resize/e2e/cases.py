"""What the upstream end-to-end suites of pod resize try, as tables of our own.

A case is a pod, another size for it, and how often each of its containers is restarted on the way there; the same
happens again on the way back. Amounts are ``requests / limits``, each ``cpu,memory``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from tests.scenarios.agent_resize.stage import written

Json = dict[str, Any]
Sizes = dict[str, str]
"""By container; ``level`` is the pod's own."""

NOBODY: Final[dict[str, int]] = {}
POLICIES: Final[dict[str, tuple[str, ...]]] = {
    "no restart": (),
    "memory restarts": ("memory",),
    "cpu restarts": ("cpu",),
    "both restart": ("cpu", "memory"),
}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table; `policy` is that of the containers `c` and `s`."""

    name: str
    before: Sizes
    after: Sizes
    policy: tuple[str, ...] = ()
    restarts: Mapping[str, int] = NOBODY
    has_init: bool = False
    """Whether a plain init container ran before."""

    def pod(self) -> Json:
        """The containers of the pod and the rest of its spec, as `World.create` wants them."""
        policy = [{"resourceName": each, "restartPolicy": "RestartContainer"} for each in self.policy]
        plain = {"image": "busybox:1", "command": ["true"], "resources": written(both("50m,32Mi"))}
        inits: list[Json] = [{"name": "i", **plain}] if self.has_init else []
        if "s" in self.before:
            lasting = {"image": "busybox:1", "command": ["sleep", "100000"], "restartPolicy": "Always"}
            inits.append({"name": "s", "resources": written(self.before["s"]), "resizePolicy": policy, **lasting})
        return {
            "containers": {
                name: {"resources": written(text), "resizePolicy": policy}
                for name, text in self.before.items()
                if name not in {"level", "s"}
            },
            "initContainers": inits,
            **({"resources": written(self.before["level"])} if "level" in self.before else {}),
        }

    def whole(self, changed: Sizes) -> Sizes:
        """All sizes after a change of some."""
        return self.before | changed


def both(amount: str) -> str:
    """Requests equal to limits."""
    return f"{amount} / {amount}"


def guaranteed() -> Iterator[Case]:
    """A container and a sidecar: six sets of policies, four kinds of change."""
    changes = {
        "cpu": ("200m,64Mi", ("cpu",)),
        "memory": ("100m,96Mi", ("memory",)),
        "same direction": ("200m,96Mi", ("cpu", "memory")),
        "opposite directions": ("200m,48Mi", ("cpu", "memory")),
    }
    sets = [*((name, policy, False) for name, policy in POLICIES.items())]
    sets += [(f"{name}, init", POLICIES[name], True) for name in ("no restart", "both restart")]
    for title, policy, has_init in sets:
        for kind, (amount, moved) in changes.items():
            yield Case(
                name=f"{title}: {kind}",
                before={"c": both("100m,64Mi"), "s": both("100m,64Mi")},
                after={"c": both(amount), "s": both(amount)},
                policy=policy,
                restarts=_restarts(policy, moved, "c", "s"),
                has_init=has_init,
            )


BURSTABLE: Final = {
    "cpu requests": ("150m,64Mi / 200m,128Mi", ("cpu",)),
    "cpu limits": ("100m,64Mi / 300m,128Mi", ("cpu",)),
    "memory requests": ("100m,96Mi / 200m,128Mi", ("memory",)),
    "memory limits": ("100m,64Mi / 200m,192Mi", ("memory",)),
    "all in the same direction": ("150m,96Mi / 300m,192Mi", ("cpu", "memory")),
    "cpu and memory in opposite directions": ("150m,48Mi / 300m,96Mi", ("cpu", "memory")),
    "requests and limits in opposite directions": ("50m,96Mi / 300m,112Mi", ("cpu", "memory")),
}


def burstable() -> Iterator[Case]:
    """One container: four policies, seven kinds of change."""
    for title, policy in POLICIES.items():
        for kind, (amount, moved) in BURSTABLE.items():
            yield Case(
                name=f"{title}: {kind}",
                before={"c": "100m,64Mi / 200m,128Mi"},
                after={"c": amount},
                policy=policy,
                restarts=_restarts(policy, moved, "c"),
            )


def several() -> Iterator[Case]:
    """Several containers that change together, up and down; and what the kernel cannot tell apart."""
    three = {name: both("100m,64Mi") for name in ("c", "d", "e")}
    changes = {
        "net increase": {"c": both("300m,128Mi"), "d": both("50m,32Mi"), "e": both("150m,96Mi")},
        "net decrease": {"c": both("50m,32Mi"), "d": both("150m,96Mi"), "e": both("50m,32Mi")},
        "mixed": {"c": both("200m,32Mi"), "d": both("50m,96Mi"), "e": both("100m,64Mi")},
    }
    for kind, after in changes.items():
        yield Case(name=f"three containers: {kind}", before=three, after=after)
    yield Case(name="equivalents", before={"c": "2m,32Mi / 10m,64Mi"}, after={"c": "1m,32Mi / 5m,64Mi"})


def pod_level_guaranteed() -> Iterator[Case]:
    """The pod's own size beside that of its containers, or alone: six sets of policies, ten kinds of change."""
    level, own = both("300m,192Mi"), both("100m,64Mi")
    inside = {
        "cpu": (both("150m,64Mi"), ("cpu",)),
        "memory": (both("100m,96Mi"), ("memory",)),
        "same direction": (both("150m,96Mi"), ("cpu", "memory")),
        "opposite directions": (both("150m,48Mi"), ("cpu", "memory")),
    }
    around = {
        "pod cpu": both("400m,192Mi"),
        "pod memory": both("300m,256Mi"),
        "pod same direction": both("400m,256Mi"),
        "pod opposite directions": both("400m,160Mi"),
    }
    alone = {"only pod cpu": (both("400m,192Mi"), ("cpu",)), "only pod memory": (both("300m,256Mi"), ("memory",))}
    sets = [*((name, policy, False) for name, policy in POLICIES.items())]
    sets += [(f"{name}, init", POLICIES[name], True) for name in ("no restart", "both restart")]
    for title, policy, has_init in sets:
        before = {"level": level, "c": own}
        for kind, (amount, moved) in inside.items():
            restarts = _restarts(policy, moved, "c")
            yield _case(f"{title}: {kind}", before, {"c": amount}, policy, restarts, has_init)
        for kind, amount in around.items():
            yield _case(f"{title}: {kind}", before, {"level": amount}, policy, NOBODY, has_init)
        for kind, (amount, moved) in alone.items():
            restarts = _restarts(policy, moved, "c")
            yield _case(
                f"{title}: {kind}", {"level": level, "c": ""}, {"level": amount}, policy, restarts, has_init
            )


def pod_level_burstable() -> Iterator[Case]:
    """Four policies; the changes of a container, and the same ones of the pod, which restart nobody."""
    level, own = "300m,256Mi / 600m,512Mi", "100m,64Mi / 200m,128Mi"
    pods = {
        "pod cpu requests": "350m,256Mi / 600m,512Mi",
        "pod cpu limits": "300m,256Mi / 700m,512Mi",
        "pod memory requests": "300m,320Mi / 600m,512Mi",
        "pod memory limits": "300m,256Mi / 600m,640Mi",
        "pod all in the same direction": "350m,320Mi / 700m,640Mi",
        "pod cpu and memory in opposite directions": "350m,192Mi / 700m,384Mi",
        "pod requests and limits in opposite directions": "250m,320Mi / 700m,448Mi",
    }
    for title, policy in POLICIES.items():
        before = {"level": level, "c": own}
        for kind, (amount, moved) in BURSTABLE.items():
            yield _case(f"{title}: {kind}", before, {"c": amount}, policy, _restarts(policy, moved, "c"))
        for kind, amount in pods.items():
            yield _case(f"{title}: {kind}", before, {"level": amount}, policy, NOBODY)


def pod_level_several() -> Iterator[Case]:
    """Several containers inside one size, and sizes that the kernel rounds."""
    three = {"level": both("600m,384Mi")} | {name: both("100m,64Mi") for name in ("c", "d", "e")}
    changes = {
        "net increase": {"c": both("300m,128Mi"), "d": both("50m,32Mi"), "e": both("150m,96Mi")},
        "net decrease": {"c": both("50m,32Mi"), "d": both("150m,96Mi"), "e": both("50m,32Mi")},
        "mixed": {"level": both("700m,320Mi"), "c": both("200m,32Mi"), "d": both("50m,96Mi")},
    }
    for kind, after in changes.items():
        yield Case(name=f"three containers: {kind}", before=three, after=after)
    small = {"level": "4m,64Mi / 20m,128Mi", "c": "2m,32Mi / 10m,64Mi"}
    yield Case(name="equivalents", before=small, after={"c": "1m,32Mi / 5m,64Mi"})
    yield Case(name="small steps of the pod", before=small, after={"level": "5m,64Mi / 25m,128Mi"})
    yield Case(
        name="small steps of the pod alone",
        before={"level": "4m,64Mi / 20m,128Mi", "c": ""},
        after={"level": "5m,64Mi / 20m,128Mi"},
    )


def additions() -> Iterator[Case]:
    """What was not there before; there is no way back, since nothing can be taken away again."""
    yield Case(
        name="six containers",
        before={
            "a": "100m,64Mi / 200m,128Mi",
            "b": "100m,64Mi / 200m,",
            "c": "100m,64Mi / ,128Mi",
            "d": "100m,64Mi",
            "e": "100m,",
            "f": ",64Mi",
        },
        after={
            "a": "50m,32Mi / 100m,64Mi",
            "b": "100m,64Mi / 200m,128Mi",
            "c": "100m,64Mi / 200m,128Mi",
            "d": "100m,64Mi / 200m,128Mi",
            "e": "100m,64Mi",
            "f": "100m,64Mi",
        },
    )
    yield Case(name="limits of the pod", before={"c": "100m,64Mi"}, after={"level": "100m,64Mi / 400m,256Mi"})
    yield Case(
        name="size of the pod",
        before={"c": "100m,64Mi / 200m,128Mi", "d": "100m,64Mi"},
        after={"level": "300m,192Mi / 600m,384Mi"},
    )
    yield Case(
        name="limits inside a pod",
        before={"level": "200m,128Mi / 400m,256Mi", "c": "100m,64Mi"},
        after={"c": "100m,64Mi / 200m,128Mi"},
    )


def _case(
    name: str,
    before: Sizes,
    after: Sizes,
    policy: tuple[str, ...],
    restarts: Mapping[str, int],
    has_init: bool = False,
) -> Case:
    return Case(name=name, before=before, after=after, policy=policy, restarts=restarts, has_init=has_init)


def _restarts(policy: tuple[str, ...], moved: tuple[str, ...], *containers: str) -> dict[str, int]:
    return dict.fromkeys(containers, 1) if set(policy) & set(moved) else {}
