"""Make the virtual environment of a checkout: ``python3 tools/environment.py .venv requirements/runtime.txt``.

Runs with the host's Python and nothing else. Packages come pinned and with hashes, one line each as they arrive.
flexlet itself is not built: a path file leads to ``src/``, and two small programs start it, so that running needs
neither a build backend nor a second download.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("flexlet", "kubectl-flex")
OLDEST = (3, 11)
_PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
# Nothing is compiled at install: what is imported is compiled at its first import, and the rest never.
_PIP = (
    "install",
    "--disable-pip-version-check",
    "--no-deps",
    "--no-compile",
    "--require-hashes",
    "--progress-bar=off",
)


def say(text: str) -> None:
    """One line for who waits."""
    print(text, file=sys.stderr, flush=True)


def python(folder: Path) -> Path:
    """The environment's Python."""
    return folder / "bin/python"


def install(folder: Path, lock: Path) -> int:
    """Install what a lock pins; gives pip's exit code, and shows all it said if that is not 0."""
    pins = dict(_PIN.findall(lock.read_text()))
    command = [str(python(folder)), "-m", "pip", *_PIP, "-r", str(lock)]
    said: list[str] = []
    seen = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            said.append(line)
            if found := re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)==(\S+)", line):
                seen += 1
                if line.startswith("Collecting"):
                    say(f"  {seen:3}/{len(pins)} {found[1]} {found[2]}")
            elif line.startswith("Installing collected"):
                say(f"  installing {line.count(',') + 1} packages")
    if pip.returncode:
        say("".join(said[-30:]))
    return pip.returncode


def link(folder: Path) -> None:
    """Let the environment find flexlet in ``src/``, and start it by its names."""
    [site] = folder.glob("lib/python3.*/site-packages")
    (site / "flexlet.pth").write_text(f"{ROOT / 'src'}\n")
    describe(site)
    for name in PROGRAMS:
        program = folder / "bin" / name
        program.write_text(
            f"#!{python(folder)}\nimport sys\n\nfrom flexlet.cli.main import main\n\nsys.exit(main())\n"
        )
        program.chmod(0o755)


def describe(site: Path) -> None:
    """What installers and `importlib.metadata` know of flexlet: its version and what it requires."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    info = site / f"flexlet-{project['version']}.dist-info"
    info.mkdir(exist_ok=True)
    lines = ["Metadata-Version: 2.1", "Name: flexlet", f"Version: {project['version']}"]
    lines += [f"Requires-Dist: {wanted}" for wanted in project["dependencies"]]
    for extra, wishes in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {w}; extra == '{extra}'" for w in wishes)]
    (info / "METADATA").write_text("\n".join([*lines, ""]))


def main(arguments: list[str]) -> int:
    """Exit code 0 when the environment has what the lock pins."""
    if sys.version_info < OLDEST:
        say(f"flexlet needs Python 3.11 or newer; {sys.executable} is older. Try: make PYTHON=python3.12 ...")
        return 1
    folder, lock = Path(arguments[0]).absolute(), Path(arguments[1])
    say(f"preparing {arguments[0]} (once): the pinned packages of {lock}")
    if not python(folder).exists():
        venv.create(folder, with_pip=True, symlinks=True)
    code = install(folder, lock)
    if code == 0:
        link(folder)
    else:
        say(f"pip could not install {lock} (exit code {code}): is the package index reachable?")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
