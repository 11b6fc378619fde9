"""What the README tells a newcomer to type, typed: clone, ``make up NODE=hollow=3``, Ctrl-C, ``make test``.

Runs inside the bare root of ``tools/bareroot.py`` with the root's own Python, so it imports nothing of flexlet.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ABSENT = ("qemu-system-x86_64", "go", "kubectl", "mmdebstrap", "gcc")
UP = ("make", "up", "NODE=hollow=3")
START_S, STOP_S = 600, 30


def say(text: str) -> None:
    """One line for who waits."""
    print(f"== {text}", flush=True)


def surroundings() -> list[str]:
    """What makes this machine less bare than it should be."""
    folders = os.environ["PATH"].split(":")
    wrong = [f"there is a {name}" for name in ABSENT if any(Path(folder, name).exists() for folder in folders)]
    wrong += [f"home has {path.name}" for path in Path.home().iterdir()]
    return wrong + (["this is root"] if os.geteuid() == 0 else [])


def up(clone: Path) -> str:
    """Start a cluster, end it by Ctrl-C, which a terminal sends to all processes; gives what went wrong."""
    begin = time.monotonic()
    with subprocess.Popen(
        UP, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.alarm(START_S)
        said = []
        for line in process.stdout or ():
            sys.stdout.write(line)
            said.append(line)
            if "flexlet is up at https://" in line:
                break
        else:
            return f"`{' '.join(UP)}` ended without a cluster"
        say(f"`{' '.join(UP)}` is up {time.monotonic() - begin:.1f} s after it was typed")
        signal.alarm(STOP_S)
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read() if process.stdout else ""
        code = process.wait()
    signal.alarm(0)
    sys.stdout.write(rest)
    # make itself ends by the signal, after flexlet has.
    if code not in {0, -signal.SIGINT} or "Traceback" in rest or "Error" in rest:
        return f"Ctrl-C ended it with code {code}:\n{rest}"
    return ""


def main() -> int:
    """Exit code 0 if everything works."""
    clone = Path.home() / "flexlet"
    if wrong := surroundings():
        say(f"this root is not bare: {'; '.join(wrong)}")
        return 1
    subprocess.run(["git", "clone", "-q", "/srv/flexlet.git", clone], check=True)
    if complaint := up(clone):
        say(complaint)
        return 1
    begin = time.monotonic()
    code = subprocess.run(["make", "test"], cwd=clone, check=False).returncode
    say(f"`make test` ended with code {code} after {time.monotonic() - begin:.1f} s")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
