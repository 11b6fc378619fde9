"""Image names as registries know them, and what a failed pull is called.

The grammar and the complaints are those of the library that every registry client shares (distribution/reference):
a name without a registry is Docker Hub's, one without tag and digest is the latest.
"""

import re
from typing import Final

import msgspec

from flexlet.api import gotext
from flexlet.core.agent.containers.contents import Problem

DOCKER_HUB: Final = "docker.io"
OLD_DOCKER_HUB: Final = "index.docker.io"
_OFFICIAL: Final = "library/"
_LATEST: Final = "latest"
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_TAG: Final = r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
_ALGORITHM: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*"
_DIGEST: Final = rf"(?:@(?P<algorithm>{_ALGORITHM}):(?P<hex>[0-9a-fA-F]{{32,}}))?"
_REFERENCE: Final = re.compile(rf"{_HOST}/(?P<path>{_PART}(?:/{_PART})*){_TAG}{_DIGEST}", re.ASCII)
_ID: Final = re.compile(r"[a-f0-9]{64}")
_DIGEST_SIZES: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST_PATH: Final = 255
_INVALID: Final = "invalid reference format"


class ImageName(msgspec.Struct, frozen=True):
    """An image's name taken apart."""

    registry: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def repository(self) -> str:
        """Registry and path, the way credentials are looked up."""
        return f"{self.registry}/{self.path}"


def parsed(image: str) -> ImageName | Problem:
    """The parts of a name, with what may be left out of it."""
    if _ID.fullmatch(image):
        return Problem(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    registry, rest = _split(image)
    path = rest.partition(":")[0]
    if path != path.lower():
        return Problem(f"{_INVALID}: repository name ({path}) must be lowercase")
    found = _REFERENCE.fullmatch(f"{registry}/{rest}")
    if found is None:
        return Problem(_INVALID)
    if len(found["path"]) > _LONGEST_PATH:
        return Problem(f"repository name must not be more than {_LONGEST_PATH} characters")
    if (complaint := _about_digest(found["algorithm"], found["hex"])) is not None:
        return complaint
    digest = f"{found['algorithm']}:{found['hex']}" if found["hex"] else ""
    return ImageName(registry, found["path"], found["tag"] or "", digest)


def _split(image: str) -> tuple[str, str]:
    """Registry and the rest; a first part without dot or colon is a user of Docker Hub, if it can be one."""
    first, slash, rest = image.partition("/")
    if not slash:
        return DOCKER_HUB, _OFFICIAL + image
    is_host = first == "localhost" or "." in first or ":" in first or first != first.lower()
    registry, path = (first, rest) if is_host else (DOCKER_HUB, image)
    if registry == OLD_DOCKER_HUB:
        registry = DOCKER_HUB
    return registry, _OFFICIAL + path if registry == DOCKER_HUB and "/" not in path else path


def _about_digest(algorithm: str | None, text: str | None) -> Problem | None:
    if algorithm is None or text is None:
        return None
    if algorithm not in _DIGEST_SIZES:
        return Problem("unsupported digest algorithm")
    if len(text) != _DIGEST_SIZES[algorithm]:
        return Problem("invalid checksum digest length")
    return None if text == text.lower() else Problem("invalid checksum digest format")


def normalized(image: str) -> str | Problem:
    """The name with its tag, otherwise as it was written: which registry is meant is left to the runtime."""
    found = parsed(image)
    if isinstance(found, Problem):
        shown = gotext.quote(image)
        text = f"couldn't parse image name {shown}: {found.message}"
        return Problem(f"Failed to apply default image tag {shown}: {text}")
    return image if found.tag or found.digest else f"{image}:{_LATEST}"


def full_name(image: str) -> str:
    """The name as runtimes list it; empty if it is none."""
    found = parsed(image)
    if isinstance(found, Problem):
        return ""
    return f"{found.repository}@{found.digest}" if found.digest else f"{found.repository}:{found.tag or _LATEST}"


def repository(image: str) -> str:
    """Registry and path of a name that is known to be one."""
    found = parsed(image)
    return "" if isinstance(found, Problem) else found.repository


def pull_problem(image: str, error: str) -> Problem:
    """What a waiting container shows; `subject` is the reason."""
    for reason, words in (
        ("RegistryUnavailable", "the registry is unavailable"),
        ("SignatureValidationFailed", "the signature validation failed"),
    ):
        if error.startswith(reason):
            return Problem(f"image pull failed for {image} because {words}{error.removeprefix(reason)}", reason)
    return Problem(error, "ErrImagePull")
