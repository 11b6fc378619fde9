"""Which settings of all virtual machines a plan counts with, and who says so."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flexlet.core.vm.settings import Settings
    from flexlet.ports.cluster import Cluster


class Known(NamedTuple):
    """Settings, and where they are from; nobody: they are defaults."""

    settings: "Settings"
    source: str = ""

    def told(self) -> str:
        """For people."""
        if self.source:
            return f"settings of {self.source}: {self.settings.told()}"
        hint = "if the controllers run with others, name their file with --vm-config"
        return f"settings assumed: {self.settings.told()}; {hint}"


def of_file(path: Path | None) -> Known:
    """Those of a FlexletConfig file; without one, defaults."""
    from flexlet.adapters import kubeletconfig

    return Known(kubeletconfig.load_vms(path), str(path) if path is not None else "")


async def of_kubevirt(cluster: "Cluster", otherwise: Known) -> Known:
    """Those of the cluster's KubeVirt, unless a file was named or nobody may read them."""
    from flexlet.api import decode
    from flexlet.api.status import Forbidden, NotFound
    from flexlet.core.vm import kubevirt
    from flexlet.ports.cluster import Ref

    if otherwise.source:
        return otherwise
    try:
        found = (await cluster.list(Ref(*kubevirt.CLUSTERS))).items
    except (NotFound, Forbidden):
        return otherwise
    for raw in found:
        known = decode.from_json(raw, kubevirt.KubeVirt)
        name = f"KubeVirt {known.metadata.namespace}/{known.metadata.name}"
        return Known(known.spec.configuration.settings, name)
    return otherwise
