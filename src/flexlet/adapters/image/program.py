"""Programs of the host: where they are, and running one to its end.

Everything here blocks; callers with an event loop use a thread.
"""

import os
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence

from flexlet.errors import HostError

_LAST_WORDS = 2000


def find(name: str) -> str:
    """Where a program is; empty if it is not installed.

    Administrators' programs live where an ordinary user's PATH does not look.
    """
    return (
        shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])) or ""
    )


def run(command: Sequence[str], env: Mapping[str, str] | None = None, accept: Collection[int] = (0,)) -> str:
    """What the program printed; HostError with its last words if its exit code is not an accepted one."""
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise HostError(f"cannot run `{' '.join(command)}`: {error}") from error
    if done.returncode not in accept:
        said = (done.stderr or done.stdout).strip()[-_LAST_WORDS:]
        raise HostError(f"`{' '.join(command)}` failed with exit code {done.returncode}: {said}")
    return done.stdout
