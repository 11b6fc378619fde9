"""``flexlet server backup``, ``restore`` and ``check``: look after the data of a server, running or not."""

from pathlib import Path

import click

DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
DAMAGED = 3


@click.command()
@click.argument("data", metavar="DIR", type=DIRECTORY)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(data: Path, file: Path) -> None:
    """Write everything in the data directory DIR to one FILE, also while a server uses it.

    The FILE holds all objects and the keys in DIR/pki; keep it as safe as DIR. What is encrypted in DIR is
    encrypted in FILE, by the same keys, which are not in it.
    """
    from flexlet.apiserver import control, datacheck

    target = file.absolute()
    made = control.ask(data, control.Request("backup", str(target)))
    if made is None:
        made = datacheck.back_up_stopped(data, target)
    click.echo(f"backed up {made.words()} to {file}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("data", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Restore into a DIR that holds data; its files are kept as flexlet.db.N."
)
def restore(file: Path, data: Path, replace: bool) -> None:
    """Make the data directory DIR from a backup FILE, which is verified first."""
    from flexlet.apiserver.backup import restore as run

    click.echo(f"restored {run(file, data, replace=replace).words()} to {data}")


@click.command()
@click.argument("data", metavar="DIR", type=DIRECTORY)
@click.option(
    "--repair",
    "is_repair",
    is_flag=True,
    help="Put what is readable in the place of damaged data, which is kept as flexlet.db.N.",
)
@click.pass_context
def check(ctx: click.Context, data: Path, is_repair: bool) -> int:
    """Read everything in the data directory DIR, also while a server uses it, and say what is damaged.

    Exit code 0: all is well. 3: something is damaged. 1: it could not be checked.
    """
    from flexlet.apiserver import control, datacheck

    del ctx
    found = control.ask(data, control.Request("check")) or datacheck.check_stopped(data)
    click.echo(f"{data}: {found.words()}")
    for text in found.damage:
        click.echo(f"damaged: {text}")
    if not found.damage:
        click.echo("nothing is damaged")
        return 0
    if is_repair:
        saved = datacheck.repair(data)
        click.echo(f"saved {saved.words()}; the damaged files are kept beside it as flexlet.db.N")
        return 0
    return DAMAGED
