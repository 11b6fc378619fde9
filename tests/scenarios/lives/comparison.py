"""How a life that was lived again differs from its recording, in lines of text.

Every recorded entry must have been told, in order, and nothing else. Two things are not differences: an entry that
says nothing new in flexlet's terms (a time, or a value that flexlet does not let drift), and how much memory a
simulated process uses.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.lives.matcher import CGROUP_FILES, Matcher
from tests.lives.recording import Entry, Json, Life
from tests.scenarios.lives.replay import Told, pods_of

_USAGE: Final = re.compile(r"below current usage \(\d+\)")
_TIMES: Final = ("lastProbeTime", "lastTransitionTime", "startedAt", "finishedAt", "startTime")


def differences(life: Life, told: Told) -> list[str]:
    """All of them; none if the life was the same."""
    matcher = Matcher()
    found: list[str] = []
    for pod in pods_of(life):
        found += _walk(matcher, pod, life.entries(pod), told.watch.get(pod, []))
    events = [each for several in told.events.values() for each in several]
    found += matcher.events(map(_plain, life.events), map(_plain, events))
    for title, recorded in life.cgroup.items():
        files = (*CGROUP_FILES, "cpuset.cpus", "cpuset.cpus.effective", *_hugetlb(recorded))
        found += [f"{title}: {each}" for each in matcher.cgroup(recorded, told.cgroups.get(title, {}), files)]
    found += _scores(life, told)
    return [*found, *_answers(life, told)]


def _walk(matcher: Matcher, pod: str, recorded: Sequence[Entry], told: Sequence[Entry]) -> Iterator[str]:
    position = 0
    for number, entry in enumerate(recorded):
        if position and not _compare(matcher, entry, told[position - 1]):
            continue
        differs = [_compare(matcher, entry, each) for each in told[position:]]
        fits = next((at for at, each in enumerate(differs) if not each), None)
        if fits is None:
            nearest = min(differs, key=len, default=["nothing more was told"])
            yield f"{pod} {number} not told: {'; '.join(nearest)}"
            continue
        yield from _besides(pod, number, told, position, position + fits)
        position += fits + 1
    yield from _besides(pod, len(recorded), told, position, len(told))


def _compare(matcher: Matcher, recorded: Entry, told: Entry) -> list[str]:
    found = [
        f"{name}: {getattr(told, name)}, was {getattr(recorded, name)}"
        for name in ("type", "generation", "deletion_grace")
        if getattr(told, name) != getattr(recorded, name)
    ]
    return found or matcher.status(_plain(recorded.status), _plain(told.status))


def _besides(pod: str, number: int, told: Sequence[Entry], first: int, end: int) -> Iterator[str]:
    """What was told before a recorded entry that was not recorded, by what was new in it."""
    for at in range(first, end):
        before, after = told[at - 1], told[at]
        news = [*_changes("", before.status, after.status)]
        yield f"{pod} {number} told before: {'; '.join(news)}"


def _changes(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key not in _TIMES:
                yield from _changes(f"{path}.{key}" if path else key, before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _changes(path, _keyed(before), _keyed(after))
    elif before != after:
        yield f"{path}: {after!r}"


def _keyed(items: list[Any]) -> dict[str, Any]:
    return {
        (each.get("type") or each.get("name") or str(at)) if isinstance(each, dict) else str(at): each
        for at, each in enumerate(items)
    }


def _plain(value: Any) -> Any:
    """Without amounts of memory in use."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _USAGE.sub("below current usage (...)", value) if isinstance(value, str) else value


def _hugetlb(recorded: Json) -> list[str]:
    return sorted({file for files in recorded.values() for file in files if file.startswith("hugetlb.")})


def _scores(life: Life, told: Told) -> Iterator[str]:
    for name, score in (life.oom_score_adj or {}).items():
        if told.scores.get(name) != score:
            yield f"oom_score_adj of {name}: {told.scores.get(name)}, was {score}"


def _answers(life: Life, told: Told) -> Iterator[str]:
    recorded = [each["response"] for each in life.steps if "body" in each]
    for number, (was, found) in enumerate(zip(recorded, told.answers, strict=True)):
        expected = {"message": was["body"]["message"]} if "body" in was else {"generation": was["generation"]}
        if (was["code"], expected) != found:
            yield f"answer {number}: {found}, was {was['code']} {expected}"
