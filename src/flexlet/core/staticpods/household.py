"""Which static pods come and which go, as manifests change.

Two pods of one name must never run side by side: they would fight for the same ports and files. So a changed
manifest first ends the old pod, and the new one comes when nothing of the old is left. Of two manifests with one
name the last, by path, wins. A file that is there and cannot be used, perhaps because it is just being written,
leaves the pod of its last good state running; the kubelet would end it.
"""

from collections.abc import Iterable, Mapping

import msgspec

from flexlet.core.staticpods.pods import Manifest, PodRules, Refused, StaticPod, static_pod


class Changes(msgspec.Struct, frozen=True):
    """Pods to run from now on, and uids of pods to end."""

    seen: tuple[StaticPod, ...] = ()
    gone: tuple[str, ...] = ()


class Household:
    """The static pods of one node; one task owns it."""

    def __init__(self, node: str, rules: PodRules) -> None:
        self._node = node
        self._rules = rules
        self._pods: dict[str, StaticPod] = {}
        self._told: set[str] = set()
        self.refused: tuple[Refused, ...] = ()

    @property
    def pods(self) -> tuple[StaticPod, ...]:
        """The pods that the manifests ask for."""
        return tuple(self._pods.values())

    def learn(self, manifests: Iterable[Manifest], now: float) -> None:
        """All manifests there are; a pod that was known keeps the time it was first seen."""
        made = [static_pod(each, self._node, now, self._rules) for each in manifests]
        refused = [each for each in made if isinstance(each, Refused)]
        before = {pod.path: pod for pod in self._pods.values()}
        pods = [pod for each in made if (pod := before.get(each.path) if isinstance(each, Refused) else each)]
        names = {pod.full_name: pod for pod in pods}
        refused += [
            Refused(pod.path, f"{names[pod.full_name].path} is another pod {'/'.join(pod.full_name)}")
            for pod in pods
            if names[pod.full_name] is not pod
        ]
        self.refused = tuple(refused)
        self._pods = {pod.uid: self._pods.get(pod.uid, pod) for pod in names.values()}

    def changes(self, live: Mapping[str, tuple[str, str]]) -> Changes:
        """What is new since the last time; `live` names, by uid, the pods of which something still runs."""
        gone = sorted(self._told - self._pods.keys())
        self._told -= set(gone)
        seen = [pod for uid, pod in self._pods.items() if uid not in self._told and not _must_wait(pod, live)]
        self._told |= {pod.uid for pod in seen}
        return Changes(tuple(seen), tuple(gone))


def _must_wait(pod: StaticPod, live: Mapping[str, tuple[str, str]]) -> bool:
    return any(name == pod.full_name and uid != pod.uid for uid, name in live.items())
