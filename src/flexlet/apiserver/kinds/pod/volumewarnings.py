"""Warnings about volumes: drivers that are gone, and files that would overwrite each other."""

from typing import Final

from flexlet.api import gotext
from flexlet.api.quantity import Quantity
from flexlet.apiserver.contract.kind import Object

_GONE: Final = (
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", "", ""),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)

_File = tuple[str, str]
"""A path and where it comes from."""


def volume_warnings(volumes: list[Object], path: str) -> list[str]:
    """Warnings about all volumes of a pod: first the drivers, then the files."""
    warnings: list[str] = []
    for i, volume in enumerate(volumes):
        for key, shown, text in _GONE:
            if volume.get(key) is None:
                continue
            if text:
                warnings.append(f"{path}[{i}].{shown}: {text}")
            elif template := volume[key].get("volumeClaimTemplate"):
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
    name = gotext.quote(volume.get("name") or "")
    warnings: list[str] = []
    for key, title, name_key in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "DownwardAPI", ""),
    ):
        source = volume.get(key) or {}
        what = f"{title} {gotext.quote(source.get(name_key) or '')}" if name_key else title
        files = [(item.get("path") or "", "") for item in source.get("items") or ()]
        warnings += [f"volume {name} ({what}): overlapping paths: {text}" for text in _collisions(files)]
    if projected := volume.get("projected"):
        sources = projected.get("sources") or ()
        warnings += [f"volume {name} (Projected) has no sources provided" for source in sources if not source]
        files = [file for source in sources for file in _projected_files(source)]
        warnings += [f"volume {name} (Projected): overlapping paths: {text}" for text in _collisions(files)]
    return warnings


def _projected_files(source: Object) -> list[_File]:
    for key, title in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (keyed := source.get(key)) is not None and keyed.get("items"):
            what = f"{title} {gotext.quote(keyed.get('name') or '')}"
            return [(item.get("path") or "", what) for item in keyed["items"]]
    if (files := source.get("downwardAPI")) is not None and files.get("items"):
        return [(item.get("path") or "", "DownwardAPI") for item in files["items"]]
    if (token := source.get("serviceAccountToken")) is not None:
        return [(token.get("path") or "", "ServiceAccountToken")]
    return []


def _collisions(files: list[_File]) -> list[str]:
    """Pairs of which one is the other or lies below it."""
    texts: list[str] = []
    seen: list[_File] = []
    for target, source in files:
        file = (target.rstrip("/"), source)
        texts += [f"{_file_text(file)} with {_file_text(other)}" for other in seen if _collide(file[0], other[0])]
        seen.append(file)
    return texts


def _collide(one: str, other: str) -> bool:
    if not one or not other:
        return False
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _file_text(file: _File) -> str:
    path, source = file
    return f"{gotext.quote(path)} ({source})" if source else gotext.quote(path)
