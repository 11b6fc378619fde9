"""``flexlet controllers``: flexlet's controllers for any cluster."""

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from flexlet.cli import address
from flexlet.cli.announce import announce
from flexlet.core.nodesize import names

if TYPE_CHECKING:
    from flexlet.core.nodesize.settings import Settings
    from flexlet.core.vm.settings import Settings as VmSettings


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How to reach the API server; by default as kubectl does, or as a pod's service account.",
)
@click.option("--leader-elect", is_flag=True, help="Wait until no other process leads.")
@click.option("--lease-namespace", default="flexlet-system", show_default=True, help="Where its lease is.")
@click.option("--balloon-namespace", default=names.NAMESPACE, show_default=True, help="Where balloon pods live.")
@click.option("--balloon-image", default="", help="The image of balloon pods; one that only waits.")
@click.option(
    "--management",
    type=click.Choice(["PerNode", "DaemonSet"]),
    default="PerNode",
    show_default=True,
    help="Who makes balloon pods.",
)
@click.option(
    "--mode",
    type=click.Choice(["auto", "stock-critical"]),
    default="auto",
    show_default=True,
    help="stock-critical only where it cannot kill anybody; elsewhere it is refused, node by node.",
)
@click.option("--taint-while-resizing", is_flag=True, help="Keep new pods away for the seconds of a resize.")
@click.option(
    "--spares-victims",
    is_flag=True,
    help="For stock-critical, which needs 1.37 or later: gate"
    " InPlacePodVerticalScalingSchedulerPreemption is on in all components.",
)
@click.option("--autoscale", is_flag=True, help="Give nodes more for pods that wait, and take it back when idle.")
@click.option("--vms/--no-vms", default=True, show_default=True, help="Look after FlexVMs too.")
@click.option(
    "--vm-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A FlexletConfig file: what holds for all virtual machines, under KubeVirt's keys.",
)
@click.option("--vm-image", default="", help="The image of launcher pods; it wins over the file's.")
@click.option("--listen", default="", metavar="HOST:PORT", help="Serve /metrics and /healthz here.")
@click.option("--verbose", "-v", is_flag=True, help="Log what is done.")
def controllers(
    kubeconfig: Path | None,
    leader_elect: bool,
    lease_namespace: str,
    balloon_namespace: str,
    balloon_image: str,
    management: str,
    mode: str,
    taint_while_resizing: bool,
    spares_victims: bool,
    autoscale: bool,
    vms: bool,
    vm_config: Path | None,
    vm_image: str,
    listen: str,
    verbose: bool,
) -> None:
    """Keep nodes as big as their NodeSizes say, and virtual machines as FlexVMs do; Ctrl-C stops it, sizes stay.

    Virtual machines are run in launcher pods, which are resized in place; with each of them a line is kept open
    through the API server (pods/exec). One lease is for all.
    """
    import logging

    from flexlet.apps import nodesize, outside
    from flexlet.apps import vms as virtual
    from flexlet.apps.eventloop import new_loop

    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, format="%(levelname)s %(message)s")
    nodes = nodesize.Options(
        settings=_settings(balloon_namespace, balloon_image, management, mode, taints=taint_while_resizing),
        autoscale=autoscale,
        lease_namespace=lease_namespace if leader_elect else "",
        identity=f"{socket.gethostname()}_{os.getpid()}",
    )
    machines = virtual.Options(settings=_vm_settings(vm_config, vm_image))
    asked = outside.Outside(
        kubeconfig=kubeconfig,
        nodes=nodes,
        spares_victims=spares_victims,
        machines=machines if vms else None,
        listen=address.parse(listen) if listen else None,
    )
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(outside.run(asked, _ready))


def _ready(metrics: str) -> None:
    hint = f"; metrics at http://{metrics}/metrics" if metrics else ""
    announce(f"flexlet controllers run{hint}")


def _settings(namespace: str, image: str, management: str, mode: str, *, taints: bool) -> "Settings":
    import msgspec

    from flexlet.core.nodesize.settings import Settings

    settings = Settings(
        namespace=namespace,
        management=cast('Literal["PerNode", "DaemonSet"]', management),
        taints_while_resizing=taints,
        mode=cast('Literal["auto", "stock-critical"]', mode),
    )
    return msgspec.structs.replace(settings, image=image) if image else settings


def _vm_settings(file: Path | None, image: str) -> "VmSettings":
    import msgspec

    from flexlet.adapters import kubeletconfig

    settings = kubeletconfig.load_vms(file)
    return msgspec.structs.replace(settings, image=image) if image else settings
