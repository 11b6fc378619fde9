"""Image names as registries know them, what credentials fit, and what a failed pull is called."""

import base64
import binascii
import re
from typing import Any, Final

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.containers.contents import Material, Problem, Reference
from flexlet.core.runtime.configs import PullCredentials

_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_TAG: Final = r"(?P<tag>:[\w][\w.-]{0,127})?"
_ALGORITHM: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*"
_DIGEST: Final = rf"(?P<digest>@{_ALGORITHM}:[0-9a-fA-F]{{32,}})?"
_REFERENCE: Final = re.compile(rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*{_TAG}{_DIGEST}", re.ASCII)
_DOCKER_HUB: Final = "index.docker.io"
_JSON_KEY: Final = ".dockerconfigjson"
_OLD_KEY: Final = ".dockercfg"


def normalized(image: str) -> str | Problem:
    """The name with its tag; without tag and digest it is the latest."""
    found = _REFERENCE.fullmatch(image)
    if found is None:
        why = "invalid reference format"
        if _REFERENCE.fullmatch(image.lower()) is not None:
            why = "invalid reference format: repository name must be lowercase"
        text = f'couldn\'t parse image name "{image}": {why}'
        return Problem(f'Failed to apply default image tag "{image}": {text}')
    return image if found["tag"] or found["digest"] else f"{image}:latest"


def pull_problem(image: str, code: str, detail: str) -> Problem:
    """What a waiting container shows; `subject` is the reason."""
    for reason, words in (
        ("RegistryUnavailable", "the registry is unavailable"),
        ("SignatureValidationFailed", "the signature validation failed"),
    ):
        if detail.startswith(reason):
            rest = detail.removeprefix(reason)
            return Problem(f"image pull failed for {image} because {words}{rest}", reason)
    text = detail if code == "Unknown" else f"rpc error: code = {code} desc = {detail}"
    return Problem(text, "ErrImagePull")


def references(pod: NodePod) -> frozenset[Reference]:
    """The pod's pull secrets."""
    return frozenset(Reference("Secret", each.name) for each in pod.spec.image_pull_secrets if each.name)


def credentials(pod: NodePod, material: Material, image: str) -> tuple[PullCredentials, ...]:
    """Those that fit the image's registry and path, the most precise first."""
    fitting = []
    for reference in pod.spec.image_pull_secrets:
        data = material.objects.get(Reference("Secret", reference.name)) or {}
        for place, entry in _entries(data).items():
            if _fits(place, image):
                fitting.append((len(_place(place)), _credentials(place, entry)))
    fitting.sort(key=lambda pair: -pair[0])
    return tuple(each for _, each in fitting)


def _entries(data: dict[str, bytes]) -> dict[str, Any]:
    """Registry to entry; a secret that cannot be read is none."""
    raw = data.get(_JSON_KEY) or data.get(_OLD_KEY)
    if raw is None:
        return {}
    try:
        found = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return {}
    entries = found.get("auths", {}) if _JSON_KEY in data else found
    return entries if isinstance(entries, dict) else {}


def _credentials(place: str, entry: dict[str, Any]) -> PullCredentials:
    username, password = entry.get("username", ""), entry.get("password", "")
    if entry.get("auth") and not username:
        try:
            username, _, password = base64.b64decode(entry["auth"]).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            username = password = ""
    return PullCredentials(
        username=username,
        password=password,
        server_address=_place(place),
        identity_token=entry.get("identitytoken", ""),
        registry_token=entry.get("registrytoken", ""),
    )


def _place(text: str) -> str:
    """Host and path without scheme and API version."""
    plain = re.sub(r"^https?://", "", text).rstrip("/")
    return re.sub(r"/v[12]$", "", plain)


def _fits(place: str, image: str) -> bool:
    host, _, path = _place(place).partition("/")
    registry, repository = _split(image)
    same_host = _matches(host, registry) or (host in {_DOCKER_HUB, "docker.io"} and registry == "docker.io")
    return same_host and (not path or repository == path or repository.startswith(f"{path}/"))


def _matches(pattern: str, host: str) -> bool:
    """Part by part; a star stands for one part of a name."""
    wanted, given = pattern.split("."), host.split(".")
    return len(wanted) == len(given) and all(
        re.fullmatch(re.escape(a).replace(r"\*", "[^.]*"), b) for a, b in zip(wanted, given, strict=True)
    )


def _split(image: str) -> tuple[str, str]:
    """Registry and repository of an image."""
    name = image.partition("@")[0]
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return "docker.io", name.rpartition(":")[0] or name
    return first, rest.rpartition(":")[0] or rest
