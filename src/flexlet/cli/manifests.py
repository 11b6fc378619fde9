"""``flexlet print-manifests``: what a cluster needs before its nodes' sizes can be wishes.

The files are written to be read: they are printed as they are, comments included. What can be chosen stands on
lines that end in a comment naming the choice.
"""

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, Final

import click

from flexlet.cli.output import print_json
from flexlet.errors import ConfigError

PARTS: Final = {
    "namespace": "10-namespace.yaml",
    "nodesize": "20-nodesize.yaml",
    "flexvm": "25-flexvm.yaml",
    "priority": "30-priority.yaml",
    "rbac": "40-rbac.yaml",
    "flexvm-rbac": "45-flexvm-rbac.yaml",
    "guard": "50-guard.yaml",
    "controllers": "60-controllers.yaml",
}
NAMESPACE: Final = "flexlet-system"
BALLOONS: Final = "kube-system"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_USER: Final = re.compile(r"[^'\"\\\s]+")


@click.command("print-manifests")
@click.option("--namespace", default=NAMESPACE, show_default=True, help="Where flexlet's own accounts live.")
@click.option("--balloon-namespace", default=BALLOONS, show_default=True, help="Where balloon pods live.")
@click.option(
    "--allow",
    "users",
    multiple=True,
    metavar="USER",
    help="One more user who may make, resize and delete balloons, besides flexlet's service accounts.",
)
@click.option("--image", default="", help="Run the controllers in the cluster, from this image.")
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(list(PARTS)),
    help="Print this part; may be repeated. By default all, the controllers only with --image.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def print_manifests(
    namespace: str, balloon_namespace: str, users: tuple[str, ...], image: str, parts: tuple[str, ...], output: str
) -> None:
    """Print what kubectl apply -f - makes of a cluster one whose nodes' sizes are wishes.

    The kinds NodeSize, FlexVM and FlexVMMigration, the balloons' priority class, accounts, roles, and a guard made
    of admission policies: tenants can neither use the balloons' class, nor label pods as balloons, nor resize,
    evict or delete one.
    """
    chosen = parts or tuple(part for part in PARTS if part != "controllers" or image)
    if "controllers" in chosen and not image:
        raise click.UsageError("--only controllers needs --image: there is no image to assume")
    text = manifests(chosen, namespace, balloon_namespace, users, image)
    if output == "yaml":
        click.echo(text, nl=False)
    else:
        print_json({"kind": "List", "apiVersion": "v1", "items": list(objects(text))})


def manifests(
    parts: Sequence[str],
    namespace: str = NAMESPACE,
    balloons: str = BALLOONS,
    users: Sequence[str] = (),
    image: str = "",
) -> str:
    """The text of these parts, in the order in which they can be applied."""
    for name in (namespace, balloons):
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{name!r} is no name of a namespace: use lower case letters, digits and '-'")
    for user in users:
        if not _USER.fullmatch(user):
            raise ConfigError(f"cannot allow user {user!r}: a name has no spaces, quotes or backslashes")
    texts = (f"---\n{_read(PARTS[part])}".replace(NAMESPACE, namespace) for part in PARTS if part in parts)
    return "".join(line for text in texts for line in _chosen(text, balloons, users, image))


def objects(text: str) -> Iterator[Any]:
    """The objects of a manifest."""
    from flexlet.cli.documents import documents

    for document in documents(text.encode(), "the manifests"):
        yield document.value


def _read(file: str) -> str:
    return (resources.files("flexlet") / "manifests" / file).read_text()


def _chosen(text: str, balloons: str, users: Sequence[str], image: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if line.endswith("# balloon namespace\n"):
            yield line.replace(BALLOONS, balloons)
        elif line.endswith("# --allow\n"):
            yield line.replace("']", "'" + "".join(f", '{user}'" for user in users) + "]")
        elif line.endswith("# --image\n"):
            yield f"{line.partition('image:')[0]}image: {image}\n"
        else:
            yield line
