"""``flexlet explain pod/NAME``: why a pod is as it is, from the journal of the agent that runs it.

Whoever has the lines of a journal can have them explained: `explained` takes entries, from a file of this host or
from wherever else they were fetched.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from flexlet.errors import ConfigError

if TYPE_CHECKING:
    from flexlet.core.journal.entry import Entry

JOURNAL: Final = Path("/var/lib/kubelet/journal/agent.jsonl")


@click.command()
@click.argument("target", metavar="pod/NAME")
@click.option("--namespace", "-n", default="default", show_default=True, help="The pod's namespace.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    default=JOURNAL,
    show_default=True,
    help="The agent's journal.",
)
@click.option("--uid", default="", help="A pod of that name that is gone; by default the newest one.")
def explain(target: str, namespace: str, journal: Path, uid: str) -> None:
    """Tell what the node learned of a pod, what it decided, did and reported, in the order it happened."""
    from flexlet.adapters.journal import read

    for line in explained(read(journal), namespace, pod_name(target), uid):
        click.echo(line)


def pod_name(target: str) -> str:
    """``web`` of ``pod/web``."""
    kind, slash, name = target.rpartition("/")
    if (slash and kind not in {"pod", "pods", "po"}) or not name:
        raise ConfigError(f"cannot explain {target!r}: name a pod as pod/NAME")
    return name


def explained(entries: Sequence["Entry"], namespace: str, name: str, uid: str = "") -> Iterator[str]:
    """One line an entry; ConfigError if the journal does not know the pod."""
    from flexlet.api import age
    from flexlet.core.journal import chain, words

    known = chain.uids(entries, namespace, name)
    chosen = uid or (known[-1] if known else "")
    found = chain.of_pod(entries, chosen) if chosen else []
    if not found:
        raise ConfigError(f"the journal knows no pod {namespace}/{name}{f' with uid {uid}' if uid else ''}")
    if len(known) > 1 and not uid:
        yield f"# {len(known)} pods had this name; this is {chosen}, older ones: {', '.join(known[:-1])}"
    for entry in found:
        yield f"{age.format_micro(entry.at)[:-4]}Z  {entry.kind:<7}  {words.sentence(entry)}"
