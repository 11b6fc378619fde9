"""Where the story of a node is found, and how it is told."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from flexlet.adapters.journal import read
from flexlet.api import age
from flexlet.cli import reading
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.saved import Saved
from flexlet.core.journal import nodenotes, nodestory
from flexlet.core.sizes import node as detail
from flexlet.core.sizes.node import Event, NodeDetails
from flexlet.errors import ConfigError
from flexlet.ports.cluster import EVENTS, Cluster

JOURNAL: Final = "journal/agent.jsonl"
"""Below the agent's directory."""


def node_story(name: str, root: Path | None, usual: Path, kubeconfig: str | None) -> Iterator[str]:
    """From the directory that was named, or from this host's if no cluster was named; else from a cluster."""
    if (here := _here(root, usual, kubeconfig)) is not None:
        return _of_host(here)
    return _of_cluster(*_from_cluster(name, kubeconfig), usual)


def node_value(name: str, root: Path | None, usual: Path, kubeconfig: str | None) -> Any:
    """The same for programs: the node's file, or what the cluster remembers."""
    if (here := _here(root, usual, kubeconfig)) is not None:
        return _read(here / saved.FILE)
    details, told = _from_cluster(name, kubeconfig)
    return detail.value(details) | {"told": told}


def _here(root: Path | None, usual: Path, kubeconfig: str | None) -> Path | None:
    if root is not None:
        return root
    is_asked = kubeconfig is None and "KUBECONFIG" not in os.environ
    return usual if is_asked and (usual / saved.FILE).is_file() else None


def _from_cluster(name: str, kubeconfig: str | None) -> tuple[NodeDetails, list[Event]]:
    return asyncio.run(reading.of_cluster(kubeconfig, lambda cluster: _asked(cluster, name)))


def _of_host(root: Path) -> Iterator[str]:
    """The stories, and then what the journal still knows of the steps."""
    path, journal = root / saved.FILE, root / JOURNAL
    yield f"# from {path}"
    yield from nodestory.of_file(_read(path))
    entries = nodenotes.of_node(read(journal)) if journal.is_file() else []
    if entries:
        yield f"# from {journal}"
    for entry in entries:
        yield f"{age.format_micro(entry.at)[:-4]}Z  {entry.kind:<7}  {nodenotes.sentence(entry)}"


def _read(path: Path) -> Saved:
    try:
        found = saved.parse(path.read_bytes())
    except OSError as error:
        hint = "name the agent's directory with --root-dir, or a cluster with --kubeconfig"
        raise ConfigError(f"cannot read the node's generations {path}: {error.strerror}; {hint}") from error
    if isinstance(found, saved.Spoiled):
        raise ConfigError(f"cannot believe the node's generations {path}: {found.why}")
    return found


def _of_cluster(details: NodeDetails, told: list[Event], usual: Path) -> Iterator[str]:
    name = details.sizes.name
    yield f"# from the cluster's events, which it forgets; on {name} itself, --root-dir {usual} tells all of it"
    yield from nodestory.of_events(details, told)


async def _asked(cluster: Cluster, name: str) -> tuple[NodeDetails, list[Event]]:
    """The node, and what its pods were told because of its size."""
    details = await reading.node_details(cluster, name)
    told = []
    for reason in nodestory.VICTIMS:
        found = await reading.listed(cluster, EVENTS, Event, field_selector=f"reason={reason}")
        told += [each for each in found if name in {each.source.get("host"), each.reporting_instance}]
    return details, told
