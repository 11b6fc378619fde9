"""Which credentials fit an image: the pod's pull secrets, tried one after another.

Entries are matched part by part of the host name, where a star stands for one part; ports must be equal and the
entry's path must begin the image's. The entry that sorts last comes first, which puts longer paths before shorter
ones. Entries of Docker Hub also fit its images under the hub's old name. Follows the kubelet's docker keyring;
only user name and password travel, as it does not know the other fields either.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.containers import images
from flexlet.core.agent.containers.contents import Content, Material, Problem, Reference
from flexlet.core.runtime.configs import PullCredentials

SECRET: Final = "Secret"  # noqa: S105 the kind's name
_JSON: Final = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson")
_OLD: Final = ("kubernetes.io/dockercfg", ".dockercfg")
_API_VERSION: Final = re.compile(r"/v[12](?=/)")
_HOST_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*)):(\d*)")

Ring = dict[str, list[PullCredentials]]


class _Entry(msgspec.Struct, frozen=True):
    username: str = ""
    password: str = ""
    auth: str = ""


class _Config(msgspec.Struct, frozen=True):
    auths: dict[str, _Entry] = {}


def references(pod: NodePod) -> tuple[Reference, ...]:
    """The pod's pull secrets, in their order."""
    return tuple(Reference(SECRET, each.name) for each in pod.spec.image_pull_secrets if each.name)


def missing(pod: NodePod, material: Material) -> tuple[str, ...]:
    """Pull secrets that are not there: the pull is tried all the same, and people are told."""
    return tuple(each.name for each in references(pod) if material.objects.get(each) is None)


def missing_text(absent: tuple[str, ...]) -> str:
    """What the FailedToRetrieveImagePullSecret event says."""
    listed = ", ".join(absent)
    return f"Unable to retrieve some image pull secrets ({listed}); attempting to pull the image may not succeed."


def credentials(pod: NodePod, material: Material, image: str) -> tuple[PullCredentials, ...] | Problem:
    """Those that fit the image, the most precise first; a secret that cannot be read is a problem."""
    ring: Ring = {}
    for reference in references(pod):
        content = material.objects.get(reference)
        entries = None if content is None else _entries(content)
        if isinstance(entries, Problem):
            return Problem(f'pull secret "{reference.name}": {entries.message}')
        for place, found in entries or ():
            ring.setdefault(place, []).append(found)
    return _looked_up(ring, images.repository(image))


def _looked_up(ring: Ring, repository: str) -> tuple[PullCredentials, ...]:
    fitting = [each for place in sorted(ring, reverse=True) if _fits(place, repository) for each in ring[place]]
    if not fitting and _is_hub(repository):
        fitting = ring.get(images.OLD_DOCKER_HUB, [])
    return tuple(fitting)


def _is_hub(repository: str) -> bool:
    first = repository.partition("/")[0]
    return first in {images.DOCKER_HUB, images.OLD_DOCKER_HUB} or not ("." in first or ":" in first)


def _entries(content: Content) -> list[tuple[str, PullCredentials]] | Problem:
    """Places and credentials of one secret; secrets of other types hold none."""
    try:
        return list(_decoded(content))
    except (msgspec.DecodeError, ValueError) as error:
        return Problem(str(error))


def _decoded(content: Content) -> Iterator[tuple[str, PullCredentials]]:
    found: dict[str, _Entry] = {}
    if content.type == _JSON[0] and content.data.get(_JSON[1]):
        found = msgspec.json.decode(content.data[_JSON[1]], type=_Config).auths
    elif content.type == _OLD[0] and content.data.get(_OLD[1]):
        found = msgspec.json.decode(content.data[_OLD[1]], type=dict[str, _Entry])
    for place, entry in found.items():
        held = _credentials(entry)
        if (key := _key(place)) is not None:
            yield key, held


def _credentials(entry: _Entry) -> PullCredentials:
    """A field `auth` wins over the others; its padding may be missing."""
    if not entry.auth:
        return PullCredentials(username=entry.username, password=entry.password)
    text = entry.auth.strip()
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode(errors="replace")
    except binascii.Error as error:
        raise ValueError(f"the auth field is no base64 text: {error}") from error
    username, colon, password = plain.partition(":")
    if not colon:
        raise ValueError("unable to parse auth field, must be formatted as base64(username:password)")
    return PullCredentials(username=username, password=password)


def _key(place: str) -> str | None:
    """Host and path without scheme and API version; None if it is no address."""
    found = _address(place if re.match(r"https?://", place) else f"https://{place}")
    if found is None:
        return None
    host, path = found
    path = _API_VERSION.sub("", path, count=1) if _API_VERSION.match(path) else path
    return host if path in {"", "/"} else host + path


def _address(url: str) -> tuple[str, str] | None:
    """Host and path of a URL; None for one that cannot be read."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    if "%" in host or not re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?", host):
        return None
    return host, unquote(parts.path)


def _fits(place: str, repository: str) -> bool:
    wanted, given = _address(f"https://{place}"), _address(f"https://{repository}")
    if wanted is None or given is None or not given[1].startswith(wanted[1]):
        return False
    (names, port), (own_names, own_port) = _host_port(wanted[0]), _host_port(given[0])
    return port == own_port and len(names) == len(own_names) and all(map(_matches, names, own_names))


def _host_port(host: str) -> tuple[list[str], str]:
    found = _HOST_PORT.fullmatch(host)
    name, port = ((found[1] or found[2] or ""), found[3]) if found is not None else (host, "")
    return name.split("."), port


def _matches(pattern: str, part: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), part) is not None
