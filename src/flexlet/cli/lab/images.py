"""``flexlet lab image build``: the disk images that machines start from."""

from pathlib import Path

import click

from flexlet.cli.lab.group import lab
from flexlet.cli.output import output_option, print_json, say


@lab.group()
def image() -> None:
    """The images that machines start from."""


cache_option = click.option(
    "--cache", type=click.Path(file_okay=False, path_type=Path), help="Where built images are kept."
)
install_option = click.option("--install", is_flag=True, help="Install missing Debian packages first (as root).")


@image.command()
@cache_option
@install_option
@click.option("--vms", "has_vms", is_flag=True, help="Also what machines need to run virtual machines.")
@output_option
def build(cache: Path | None, install: bool, has_vms: bool, output: str) -> None:
    """Build the image and the code layer, unless they are there already."""
    import msgspec

    from flexlet.adapters import image as images

    cache = _prepared(cache, install)
    built = images.ensure(cache, say)
    paths = {**msgspec.structs.asdict(built), "code": images.code_layer(cache, say)}
    if has_vms:
        parts = images.vm_parts(cache, say)
        paths |= {"vmDisk": parts.disk, "vmImages": parts.archive}
    if output == "json":
        print_json({name: str(path) for name, path in paths.items()})
        return
    for name, path in paths.items():
        click.echo(f"{name:<8} {path}")


@image.command()
@click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@cache_option
@install_option
def launcher(file: Path, cache: Path | None, install: bool) -> None:
    """Write the container image of launchers (QEMU and flexlet) to FILE, an OCI archive for any cluster.

    Give it to each node (`ctr -n k8s.io images import FILE`), or to a registry
    (`skopeo copy oci-archive:FILE docker://...`) and name it to `flexlet controllers --vm-image`.
    """
    import shutil

    from flexlet.adapters import image as images
    from flexlet.core.vm.settings import IMAGE

    shutil.copyfile(images.launcher_archive(_prepared(cache, install), say), file)
    click.echo(f"{IMAGE} is in {file}")


def _prepared(cache: Path | None, install: bool) -> Path:
    from flexlet.adapters import image as images

    if install:
        images.install_missing(say)
    return cache or images.default_cache()
