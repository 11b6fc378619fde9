"""The README's two commands on a machine that has nothing: ``make test-bare``.

A minimal Debian with Python, make, git and certificates, made by mmdebstrap and kept in flexlet's cache. In it, as
an ordinary user with an empty home, a fresh clone of this checkout's last commit runs ``make up NODE=hollow=3``,
Ctrl-C and ``make test``. Where packages come from is carried over from outside, and nothing else.

All mounts and processes live in namespaces of their own, so they end with this program, however it ends.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from flexlet.adapters.image import bootstrap, cache, mirror

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("apt", "python3", "python3-venv", "make", "git", "ca-certificates")
"""Every Debian has apt, and with it the C++ library that wheels rely on; the rest is what the README asks for."""
SUITES = ("bookworm", "trixie", "forky")
"""Debian's releases with Python 3.11 or newer; the host's own is taken if it is one of them."""
USER = 1000
HOME = "/home/somebody"
_CARRIED = re.compile(r"(?i)^(PIP_.*|UV_.*|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|\w*_CA_BUNDLE|CI)$")
_FILES = ("/etc/pip.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# $1 is the root; /proc needs the new process namespace, in which this is the first process.
_ENTER = """
set -eu
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for name in {devices}; do
  touch "$1/dev/$name"
  mount --bind "/dev/$name" "$1/dev/$name"
done
mkdir "$1/dev/shm"; mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
mkdir "$1/dev/pts"; mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
mount -t sysfs -o ro sysfs "$1/sys" || mount --rbind /sys "$1/sys"
root=$1; shift
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
exec chroot --userspec={user}:{user} "$root" "$@"
"""


def say(text: str) -> None:
    """One line for who waits."""
    print(text, file=sys.stderr, flush=True)


def archive() -> Path:
    """The root file system as a tar archive, made once for each set of packages and each release."""
    suite = mirror.codename() if mirror.codename() in SUITES else "trixie"
    userland = bootstrap.Userland("a bare root", suite, PACKAGES, (), "true")
    name = hashlib.sha256(repr((suite, PACKAGES)).encode()).hexdigest()[:16]

    def build(folder: Path) -> None:
        say(f"making a bare Debian {suite} with {', '.join(PACKAGES)}")
        bootstrap.run(userland, folder / "root.tar", say)

    return cache.obtain(cache.default() / "bare", name, build, say) / "root.tar"


def named_files(values: Iterable[str]) -> set[str]:
    """Files and folders of this host that settings point at: bundles of certificates, folders of wheels."""
    words = {word for value in values for word in re.split(r"[\s'\"=]+|file://", value)}
    return {word for word in words if word.startswith("/") and Path(word).exists() and word != "/"}


def settings() -> dict[str, str]:
    """The environment's words about package indexes, proxies and certificates."""
    return {key: value for key, value in os.environ.items() if _CARRIED.match(key)}


def furnish(root: Path, carried: Mapping[str, str]) -> dict[str, str]:
    """Put the carried files, the user and the repository into the root; gives the user's environment."""
    environment = dict(carried)
    own = [Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"]
    for path in filter(Path.exists, own):
        shutil.copy(path, root / "etc/pip-user.conf")
        environment.setdefault("PIP_CONFIG_FILE", "/etc/pip-user.conf")
    configured = [path.read_text() for path in (Path("/etc/pip.conf"), *own) if path.exists()]
    for name in sorted({*_FILES, *named_files([*carried.values(), *configured])}):
        copy(Path(name), root)
    with (root / "etc/passwd").open("a") as passwd:
        passwd.write(f"somebody:x:{USER}:{USER}::{HOME}:/bin/bash\n")
    with (root / "etc/group").open("a") as group:
        group.write(f"somebody:x:{USER}:\n")
    (root / HOME.lstrip("/")).mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--bare", ROOT, root / "srv/flexlet.git"], check=True)
    for path in (root / HOME.lstrip("/"), root / "srv/flexlet.git"):
        subprocess.run(["chown", "-R", f"{USER}:{USER}", path], check=True)
    shutil.copy(ROOT / "tools/firstrun.py", root / "srv/firstrun.py")
    return environment


def copy(path: Path, root: Path) -> None:
    """The same file or folder at the same place below the root."""
    there = root / str(path).lstrip("/")
    if path.exists() and not (path.is_dir() and there.exists()):
        there.parent.mkdir(parents=True, exist_ok=True)
        there.unlink(missing_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, there)


def run(root: Path, environment: Mapping[str, str]) -> int:
    """The commands, in namespaces of their own."""
    kept = cache.default() / "bare/pip"
    kept.mkdir(parents=True, exist_ok=True)
    os.chown(kept, USER, USER)
    (root / "var/cache/pip").mkdir(parents=True)
    words = {
        "HOME": HOME,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PIP_CACHE_DIR": "/var/cache/pip",
        **environment,
    }
    enter = _ENTER.format(devices=" ".join(_DEVICES), user=USER)
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", str(root)]
    command += [str(kept), "/var/cache/pip", "--", "/usr/bin/env", "-i"]
    command += [f"{key}={value}" for key, value in words.items()]
    return subprocess.run([*command, "/usr/bin/python3", "-u", "/srv/firstrun.py"], check=False).returncode


def main() -> int:
    """Exit code 0 if both commands work."""
    if os.geteuid() != 0:
        say("make test-bare needs root: it makes a root file system and enters it")
        return 1
    made = archive()
    with tempfile.TemporaryDirectory(prefix="flexlet-bare-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "root"
        root.mkdir()
        subprocess.run(["tar", "-xf", made, "-C", root], check=True)
        return run(root, furnish(root, settings()))


if __name__ == "__main__":
    sys.exit(main())
