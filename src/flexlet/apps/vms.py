"""The controller of FlexVMs, wired: in a small cluster beside the others, or in ``flexlet controllers``."""

import logging
from collections.abc import Callable
from importlib import resources
from typing import Final

import msgspec

from flexlet.api.status import ApiError, Forbidden, NotFound
from flexlet.apps.controllers import Part, Wiring
from flexlet.apps.installing import installed
from flexlet.core.vm import exposition, names
from flexlet.core.vm.decider import FOLLOWS, VmDecider
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.tally import Tally
from flexlet.engine.vm.keeper import LinkKeeper
from flexlet.errors import ConfigError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref
from flexlet.ports.vmguest import GuestLinks

log: Final = logging.getLogger(__name__)
MANIFEST: Final = "25-flexvm.yaml"
_DEFINITIONS: Final = Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to run it."""

    settings: Settings = Settings()
    tally: Tally = msgspec.field(default_factory=Tally)
    """What is counted, whoever asks for it."""

    def metrics(self) -> str:
        """All that is counted, as Prometheus text."""
        return exposition.render(self.tally)


def add_vms(wiring: Wiring, clock: Clock, options: Options, links: GuestLinks) -> list[Part]:
    """Wire up the controller; what is returned runs beside the parts of the wiring."""
    decider = VmDecider(options.settings, options.tally)
    loop = wiring.add(decider, FOLLOWS, pace_s=0.0)
    return [LinkKeeper(decider, links, clock, loop.wake, wiring.faults)]


def adding(clock: Clock, options: Options, links: GuestLinks) -> Callable[[Wiring], list[Part]]:
    """The same for whoever wires up later."""
    return lambda wiring: add_vms(wiring, clock, options, links)


async def install(cluster: Cluster) -> None:
    """What a cluster of our own needs: the kinds."""
    for body in definitions():
        await installed(cluster, _DEFINITIONS, body)


def definitions() -> list[dict[str, dict[str, str]]]:
    """The kinds of virtual machines and of their moves."""
    text = (resources.files("flexlet") / "manifests" / MANIFEST).read_text()
    return [msgspec.yaml.decode(part) for part in text.split("\n---\n")]


async def has_kinds(cluster: Cluster) -> bool:
    """Whether there are FlexVMs that we may look after; ConfigError if nobody can say."""
    try:
        for ref in (names.FLEX_VMS, names.MIGRATIONS):
            await cluster.list(Ref(*ref))
    except NotFound:
        log.warning(
            "the cluster has no FlexVM kind, so nobody looks after virtual machines: install it with"
            " `flexlet print-manifests | kubectl apply -f -` and start again"
        )
        return False
    except Forbidden as error:
        log.warning(
            "nobody looks after virtual machines, for this account may not: %s; give it the rights of"
            " `flexlet print-manifests`, or say --no-vms",
            error,
        )
        return False
    except ApiError as error:
        raise ConfigError(f"cannot list FlexVMs: {error}") from error
    return True
