"""The images of a simulated node: those that are here, and what happens when others are pulled.

Names are normalised as containerd does it (``busybox:1`` is ``docker.io/library/busybox:1``). A registry that
nobody has set up cannot be found in the DNS, in containerd's words.
"""

import hashlib
from typing import Final

import msgspec

from flexlet.core.runtime.shown import Image

DNS_SERVER: Final = "10.0.0.53"
PAUSE: Final = "registry.k8s.io/pause:3.10"


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """What a pull comes to: after a while the image, or an error."""

    seconds: float = 0.0
    error: str = ""
    image: Image | None = None


class SimImages:
    """Images by their normalised names; `pulls` says what a registry has."""

    def __init__(self, *names: str) -> None:
        self.present: dict[str, Image] = {}
        self.pulls: dict[str, Pull] = {}
        self.files: dict[str, dict[str, str]] = {}
        """What is in an image, by its full name and by path; others have a shell and nothing else."""
        for name in (PAUSE, *names):
            self.add(made(name))

    def add(self, image: Image) -> None:
        """Have an image under all its tags."""
        for tag in image.tags:
            self.present[tag] = image

    def find(self, name: str) -> Image | None:
        """An image by name, digest or id."""
        by_name = self.present.get(normalised(name))
        return by_name or next((each for each in self.present.values() if name in {each.id, *each.digests}), None)

    def content(self, image: Image, sub_path: str = "") -> dict[str, str]:
        """Files of an image, or of a part of it, by their path there."""
        found = next((self.files[tag] for tag in image.tags if tag in self.files), {"bin/sh": "#!"})
        above = sub_path.strip("/") + "/" if sub_path.strip("/") else ""
        return {path.removeprefix(above): text for path, text in found.items() if path.startswith(above)}

    def all(self) -> tuple[Image, ...]:
        """Each image once."""
        return tuple({image.id: image for image in self.present.values()}.values())

    def remove(self, name: str) -> None:
        """Remove an image with all its tags."""
        found = self.find(name)
        self.present = {tag: image for tag, image in self.present.items() if found is None or image.id != found.id}

    def pull(self, name: str) -> Pull:
        """What pulling it comes to."""
        planned = self.pulls.get(name) or self.pulls.get(normalised(name))
        return planned or Pull(error=unreachable(name))


def made(name: str, *, uid: int | None = None, username: str = "") -> Image:
    """An image as if imported: it has a name and an id, and no registry knows it."""
    full = normalised(name)
    identity = "sha256:" + hashlib.sha256(full.encode()).hexdigest()
    return Image(id=identity, tags=(full,), size=4_000_000, uid=uid, username=username, pinned=full == PAUSE)


def normalised(name: str) -> str:
    """The full name: registry, repository, tag or digest."""
    registry, _, rest = name.partition("/")
    if not rest or not ("." in registry or ":" in registry or registry == "localhost"):
        registry, rest = "docker.io", name if "/" in name else f"library/{name}"
    if "@" not in rest and ":" not in rest.rpartition("/")[2]:
        rest += ":latest"
    return f"{registry}/{rest}"


def unreachable(name: str) -> str:
    """What containerd says when a registry has no address."""
    full = normalised(name)
    registry, _, rest = full.partition("/")
    separator = "@" if "@" in rest else ":"
    repository, _, tag = rest.rpartition(separator)
    host = "registry-1.docker.io" if registry == "docker.io" else registry
    address = f"https://{host}/v2/{repository}/manifests/{tag}"
    return (
        f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": failed to do request: '
        f'Head "{address}": dial tcp: lookup {host} on {DNS_SERVER}:53: no such host'
    )
