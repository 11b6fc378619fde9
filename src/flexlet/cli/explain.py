"""``flexlet explain pod/NAME``, ``node/NAME`` and ``vm/NAME``: why something is as it is.

A pod's story is in the journal of the agent that runs it. A node's is in the file of its generations, on the node;
elsewhere the cluster's events tell it. Whoever has the lines of a journal can have them explained: `explained`
takes entries, from a file of this host or from wherever else they were fetched.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import output_option, print_json
from flexlet.errors import ConfigError

if TYPE_CHECKING:
    from flexlet.core.journal.entry import Entry

JOURNAL: Final = Path("/var/lib/kubelet/journal/agent.jsonl")
ROOT: Final = Path("/var/lib/kubelet")
_KINDS: Final = {
    "": "pod",
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
    **dict.fromkeys(("node", "nodes", "no"), "node"),
    **dict.fromkeys(("vm", "vms", "flexvm", "flexvms", "fvm"), "vm"),
}


@click.command()
@click.argument("target", metavar="pod/NAME|node/NAME|vm/NAME")
@click.option("--namespace", "-n", default="default", show_default=True, help="The namespace of the pod or VM.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    default=JOURNAL,
    show_default=True,
    help="The agent's journal.",
)
@click.option("--uid", default="", help="A pod of that name that is gone; by default the newest one.")
@click.option(
    "--root-dir",
    "root",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"The directory of the agent on this host, which is the node; {ROOT} if no cluster is named.",
)
@kubeconfig_option
@output_option
def explain(
    target: str, namespace: str, journal: Path, uid: str, root: Path | None, kubeconfig: str | None, output: str
) -> None:
    """Tell what happened and why, in the order it happened.

    Of a pod: what its node learned, decided, did and reported, from the journal on that host. Of a node: its
    generations, what changed, and what was done to whom; from the file of its agent on that host, or from the
    events of a cluster. Of a VM: what is wanted, what its pod needs for that and has been granted, what the guest
    has, and what it waits for.
    """
    kind, name = parsed(target)
    if kind == "node":
        from flexlet.cli.explainnode import node_story, node_value

        if output == "json":
            print_json(node_value(name, root, ROOT, kubeconfig))
            return
        lines: Iterator[str] = node_story(name, root, ROOT, kubeconfig)
    elif kind == "vm":
        from flexlet.cli.explainvm import vm_story, vm_value

        if output == "json":
            print_json(vm_value(name, namespace, kubeconfig))
            return
        lines = vm_story(name, namespace, kubeconfig)
    else:
        from flexlet.adapters.journal import read

        entries = read(journal)
        if output == "json":
            print_json(of_pod(entries, namespace, name, uid)[1])
            return
        lines = explained(entries, namespace, name, uid)
    for line in lines:
        click.echo(line)


def parsed(target: str) -> tuple[str, str]:
    """Kind and name of ``pod/web``, ``node/n1`` or ``vm/db``; a bare name is a pod's."""
    kind, _, name = target.rpartition("/")
    if kind not in _KINDS or not name:
        raise ConfigError(
            f"cannot explain {target!r}: name a pod as pod/NAME, a node as node/NAME, or a VM as vm/NAME"
        )
    return _KINDS[kind], name


def explained(entries: Sequence["Entry"], namespace: str, name: str, uid: str = "") -> Iterator[str]:
    """One line an entry; ConfigError if the journal does not know the pod."""
    from flexlet.api import age
    from flexlet.core.journal import words

    known, found = of_pod(entries, namespace, name, uid)
    if len(known) > 1 and not uid:
        newest, older = known[-1], ", ".join(known[:-1])
        yield f"# {len(known)} pods had this name; this is {newest}, older ones: {older}"
    for entry in found:
        yield f"{age.format_micro(entry.at)[:-4]}Z  {entry.kind:<7}  {words.sentence(entry)}"


def of_pod(
    entries: Sequence["Entry"], namespace: str, name: str, uid: str
) -> tuple[tuple[str, ...], list["Entry"]]:
    """All pods that had this name, and the entries of the one that is meant; ConfigError if there are none."""
    from flexlet.core.journal import chain

    known = chain.uids(entries, namespace, name)
    chosen = uid or (known[-1] if known else "")
    found = chain.of_pod(entries, chosen) if chosen else []
    if not found:
        raise ConfigError(f"the journal knows no pod {namespace}/{name}{f' with uid {uid}' if uid else ''}")
    return known, found
