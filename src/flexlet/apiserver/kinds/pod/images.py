"""Image names, as far as defaulting looks at them: is the tag ``latest``, spelled out or left out?

Follows the grammar of ``distribution/reference``. A name that does not parse has no tag, so it counts as pinned;
whether it can be pulled is the node's business.
"""

import functools
import re
from typing import Final

_SEPARATED: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_SEPARATED}(?:/{_SEPARATED})*)"
    rf"(?::(?P<tag>[\w][\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_DIGEST_LENGTHS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_MAX_NAME: Final = 255
_MAX_REMEMBERED: Final = 512


def is_latest(image: str) -> bool:
    """Whether pulling this image means pulling whatever is newest."""
    # Nobody shall fill the memory with long names.
    return _remembered(image) if len(image) <= _MAX_REMEMBERED else _is_latest(image)


def _is_latest(image: str) -> bool:
    if _IDENTIFIER.fullmatch(image):
        return False
    match = _REFERENCE.fullmatch(image)
    if match is None or not _is_normal(match["name"]) or not _is_known_digest(match["digest"]):
        return False
    return match["tag"] == "latest" or not (match["tag"] or match["digest"])


def _is_normal(name: str) -> bool:
    """Only a host name may have capitals, and the path behind it is limited in length."""
    domain, slash, path = name.partition("/")
    if not slash or (not {".", ":"} & set(domain) and domain != "localhost" and domain == domain.lower()):
        path = name if slash else f"library/{name}"
    return path == path.lower() and len(path) <= _MAX_NAME


def _is_known_digest(digest: str | None) -> bool:
    if not digest:
        return True
    algorithm, _, hexadecimal = digest.partition(":")
    return _DIGEST_LENGTHS.get(algorithm) == len(hexadecimal) and hexadecimal == hexadecimal.lower()


_remembered: Final = functools.lru_cache(maxsize=4096)(_is_latest)
