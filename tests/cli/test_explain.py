"""``flexlet explain`` on a journal of this host."""

import json
from pathlib import Path

import click.testing
import pytest

from flexlet.adapters.journal import JournalFile, older
from flexlet.cli.explain import explain, parsed
from flexlet.errors import ConfigError

SEEN = {"type": "PodSeen", "namespace": "default", "name": "web", "source": "api", "generation": 1, "new": True,
        "resources": {}}  # fmt: skip


def journal(tmp_path: Path) -> Path:
    path = tmp_path / "agent.jsonl"
    notes = JournalFile(path)
    notes.note(0.5, "learned", "uid-1", SEEN)
    notes.note(1.0, "learned", "uid-2", SEEN | {"name": "other"})
    notes.note(2.0, "decided", "uid-1", {"type": "RunSandbox", "attempt": 0})
    notes.close()
    return path


def said(*args: str) -> str:
    done = click.testing.CliRunner().invoke(explain, args, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_chain_of_a_pod_is_printed_in_order(tmp_path: Path) -> None:
    assert said("pod/web", "--journal", str(journal(tmp_path))) == (
        "1970-01-01T00:00:00.500Z  learned  the API shows default/web, generation 1: no resources\n"
        "1970-01-01T00:00:02.000Z  decided  make a sandbox (attempt 0)\n"
    )


def test_a_journal_that_was_turned_over_is_read_whole(tmp_path: Path) -> None:
    """The older file comes first; a line cut off by a crash is no reason to say nothing."""
    path = journal(tmp_path)
    path.replace(older(path))
    path.write_bytes(b'{"at":3.0,"kind":"learned","subject":"uid-1","what":{"type":"PodGone"}}\n{"at":4,"ki')
    lines = said("web", "--journal", str(path)).splitlines()
    assert len(lines) == 3
    assert lines[-1] == "1970-01-01T00:00:03.000Z  learned  nobody asks for the pod any more"


def test_namesakes_are_told_apart(tmp_path: Path) -> None:
    path = journal(tmp_path)
    notes = JournalFile(path)
    notes.note(9.0, "learned", "uid-3", SEEN)
    notes.close()
    first, second = said("pod/web", "--journal", str(path)).splitlines()
    assert first == "# 2 pods had this name; this is uid-3, older ones: uid-1"
    assert second.startswith("1970-01-01T00:00:09.000Z")
    assert "sandbox" in said("pod/web", "--uid", "uid-1", "--journal", str(path))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("pod/nobody",), "the journal knows no pod default/nobody"),
        (("pod/web", "-n", "kube-system"), "the journal knows no pod kube-system/web"),
        (
            ("job/web",),
            "cannot explain 'job/web': name a pod as pod/NAME, a node as node/NAME, or a VM as vm/NAME",
        ),
    ],
)
def test_what_cannot_be_explained_is_said(args: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        said(*args, "--journal", str(journal(tmp_path)))


def test_without_a_journal_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name the agent's with --journal"):
        said("pod/web", "--journal", str(tmp_path / "none"))


def test_a_bare_name_is_a_pod() -> None:
    assert parsed("web") == parsed("pods/web") == ("pod", "web")
    assert parsed("no/n1") == ("node", "n1")


def test_entries_for_programs(tmp_path: Path) -> None:
    found = json.loads(said("pod/web", "-o", "json", "--journal", str(journal(tmp_path))))
    assert found == [
        {"at": 0.5, "kind": "learned", "subject": "uid-1", "what": SEEN},
        {"at": 2.0, "kind": "decided", "subject": "uid-1", "what": {"type": "RunSandbox", "attempt": 0}},
    ]
