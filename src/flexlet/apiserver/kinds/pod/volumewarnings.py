"""Warnings about volumes: drivers that are gone, and files that would overwrite each other."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from flexlet.api import gotext
from flexlet.api.quantity import Quantity
from flexlet.apiserver.contract.kind import Object

_GONE: Final = {
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
_KEYED: Final = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
    ("downwardAPI", "DownwardAPI", ""),
)

MAX_COLLISIONS: Final = 200
"""Told of one volume; all warnings of an answer together are cut at 4,096 characters."""
_NOWHERE: Final = ("", "")

_Origin = tuple[str, str]
"""Where files come from: a title and the name of the object, either may be empty."""
_File = tuple[str, _Origin]
_Collision = tuple[_File, _File]


def volume_warnings(volumes: list[Object], path: str) -> list[str]:
    """Warnings about all volumes of a pod: first the drivers, then the files."""
    warnings: list[str] = []
    for i, volume in enumerate(volumes):
        for key, value in volume.items():
            if key in _GONE:
                warnings.append(f"{path}[{i}].{_GONE[key]}")
            elif key == "ephemeral" and (template := value.get("volumeClaimTemplate")):
                field = f"{path}[{i}].ephemeral.volumeClaimTemplate.spec"
                warnings += _claim_warnings(template.get("spec") or {}, field)
    for volume in volumes:
        warnings += _overlaps(volume)
    return warnings


def _claim_warnings(spec: Object, path: str) -> list[str]:
    warnings: list[str] = []
    for key in ("requests", "limits"):
        text = ((spec.get("resources") or {}).get(key) or {}).get("storage")
        if text is not None and Quantity.parse(text).milli % 1000:
            field = f"{path}.resources.{key}[storage]"
            warnings.append(f'{field}: fractional byte value "{text}" is invalid, must be an integer')
    return warnings


def _overlaps(volume: Object) -> list[str]:
    warnings: list[str] = []
    for key, title, name_key in _KEYED:
        if source := volume.get(key):
            files = [(item.get("path") or "", _NOWHERE) for item in source.get("items") or ()]
            what = (title, source.get(name_key) or "")
            warnings += [_overlap_text(volume, what, collision) for collision in _collisions(files)]
    if projected := volume.get("projected"):
        sources = projected.get("sources") or ()
        if not all(sources):
            empty = f"volume {gotext.quote(volume.get('name') or '')} (Projected) has no sources provided"
            warnings += [empty for source in sources if not source]
        files = [file for source in sources for file in _projected_files(source)]
        warnings += [_overlap_text(volume, ("Projected", ""), collision) for collision in _collisions(files)]
    return warnings


def _projected_files(source: Object) -> list[_File]:
    for key, title in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        if (keyed := source.get(key)) is not None and keyed.get("items"):
            return [(item.get("path") or "", (title, keyed.get("name") or "")) for item in keyed["items"]]
    if (token := source.get("serviceAccountToken")) is not None:
        return [(token.get("path") or "", ("ServiceAccountToken", ""))]
    return []


def _collisions(files: list[_File]) -> list[_Collision]:
    """Pairs of which one is the other or lies below it: the later file first, in the order of the files."""
    if len(files) < 2:
        return []
    files = [(target.rstrip("/"), origin) for target, origin in files]
    texts = [f"{path}/" for path, _ in files]
    # Only so many files from the first are looked at as give enough pairs: there may be a hundred million.
    enough = bisect_left(
        range(len(texts)), MAX_COLLISIONS, key=lambda count: sum(len(above) for _, above in _nested(texts[:count]))
    )
    pairs = sorted((max(at, other), min(at, other)) for at, above in _nested(texts[:enough]) for other in above)
    return [(files[later], files[earlier]) for later, earlier in pairs[:MAX_COLLISIONS]]


def _nested(texts: list[str]) -> Iterator[tuple[int, list[int]]]:
    """The position of each path, and those of the paths that it is or lies below, as far as they came before.

    In sorted order whatever lies below a path follows it at once, so those above it are a stack.
    """
    above: list[int] = []
    for at in sorted((at for at, text in enumerate(texts) if text != "/"), key=texts.__getitem__):
        while above and not texts[at].startswith(texts[above[-1]]):
            above.pop()
        yield at, above
        above.append(at)


def _overlap_text(volume: Object, what: _Origin, collision: _Collision) -> str:
    file, other = map(_file_text, collision)
    name = gotext.quote(volume.get("name") or "")
    return f"volume {name} ({_origin_text(what)}): overlapping paths: {file} with {other}"


def _file_text(file: _File) -> str:
    path, origin = file
    return gotext.quote(path) if origin == _NOWHERE else f"{gotext.quote(path)} ({_origin_text(origin)})"


def _origin_text(origin: _Origin) -> str:
    title, name = origin
    return f"{title} {gotext.quote(name)}" if title in {"ConfigMap", "Secret"} else title
