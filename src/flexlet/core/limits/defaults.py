"""Requests and limits that a LimitRange gives to containers without their own.

Works on the plain objects of the API server: amounts are copied as texts, in place.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Amounts = dict[str, str]


def container_defaults(limit_range: Mapping[str, Any]) -> tuple[Amounts, Amounts]:
    """Default requests and default limits of a container; a later entry of the range wins."""
    requests: Amounts = {}
    limits: Amounts = {}
    for item in limit_range.get("spec", {}).get("limits") or ():
        if item.get("type") == "Container":
            requests.update(item.get("defaultRequest") or {})
            limits.update(item.get("default") or {})
    return requests, limits


def fill(pod_spec: dict[str, Any], requests: Amounts, limits: Amounts) -> str:
    """Fill in what containers left out; the text of the annotation that tells of it, empty if nothing was."""
    notes: list[str] = []
    for title, key in (("container", "containers"), ("init container", "initContainers")):
        for container in pod_spec.get(key) or ():
            notes.extend(
                f"{note} for {title} {container.get('name', '')}" for note in _fill(container, requests, limits)
            )
    return f"LimitRanger plugin set: {'; '.join(notes)}" if notes else ""


def _fill(container: dict[str, Any], requests: Amounts, limits: Amounts) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for note, key, defaults in (("request", "requests", requests), ("limit", "limits", limits)):
        given = resources.get(key) or {}
        added = sorted(defaults.keys() - given.keys())
        if added:
            resources[key] = dict(sorted({**defaults, **given}.items()))
            yield f"{', '.join(added)} {note}"
