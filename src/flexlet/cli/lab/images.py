"""``flexlet lab image build``: the disk images that machines start from."""

from pathlib import Path

import click

from flexlet.cli.lab.group import lab, output_option, say


@lab.group()
def image() -> None:
    """The images that machines start from."""


@image.command()
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="Where built images are kept.")
@click.option("--install", is_flag=True, help="Install missing Debian packages first (as root).")
@output_option
def build(cache: Path | None, install: bool, output: str) -> None:
    """Build the image and the code layer, unless they are there already."""
    import msgspec

    from flexlet.adapters import image as images

    cache = cache or images.default_cache()
    if install:
        images.install_missing(say)
    built = images.ensure(cache, say)
    paths = {**msgspec.structs.asdict(built), "code": images.code_layer(cache, say)}
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({k: str(v) for k, v in paths.items()}), indent=2))
        return
    for name, path in paths.items():
        click.echo(f"{name:<7} {path}")
