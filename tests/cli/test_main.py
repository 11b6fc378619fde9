import subprocess
import sys
from pathlib import Path

import click
import pytest

from flexlet import __version__
from flexlet.cli import main
from flexlet.errors import ConfigError

SOURCES = Path(__file__).parents[2] / "src"


SCRIPT = """
import sys
from flexlet.cli.main import run
run(["--help"])
print(sorted(name for name in sys.modules if name.startswith("flexlet")))
"""


def test_help_loads_no_command() -> None:
    """The texts of the table are enough for --help."""
    command, environment = [sys.executable, "-c", SCRIPT], {"PYTHONPATH": str(SOURCES)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *lines, loaded = done.stdout.splitlines()
    assert loaded == "['flexlet', 'flexlet.cli', 'flexlet.cli.main', 'flexlet.errors']"
    for name, (_, _, text) in main.COMMANDS.items():
        assert any(name in line and text[:40] in line for line in lines)


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_of_the_table_exists(name: str) -> None:
    command = main.cli.get_command(click.Context(main.cli), name)
    assert isinstance(command, click.Command)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"flexlet {__version__}\n"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ConfigError("no such thing"), 1, "error: no such thing\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (click.UsageError("not so"), 2, "Error: not so\n"),
    ],
)
def test_errors_end_in_main(
    error: BaseException,
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A known error is one line on stderr and an exit code, never a traceback."""

    def fail(**_arguments: object) -> None:
        raise error

    monkeypatch.setattr(main.cli, "main", fail)
    assert main.run([]) == code
    assert capsys.readouterr().err == text


def test_a_reader_that_goes_away() -> None:
    """Closing the pipe ends the command quietly, the way other tools end."""
    pod = '{"pod": {"spec": {"containers": [{"name": "a"}]}}}\n'
    with subprocess.Popen(
        [sys.executable, "-m", "flexlet", "calc", "pod", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(SOURCES)},
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(pod * 1000)
        process.stdin.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


@pytest.mark.parametrize(("path", "name"), [("/usr/bin/flexlet", "flexlet"), ("kubectl-flex", "kubectl flex")])
def test_names(path: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Installed as a kubectl plugin it speaks of itself as one."""
    monkeypatch.setattr(sys, "argv", [path, "--help"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"Usage: {name} [OPTIONS] COMMAND")
