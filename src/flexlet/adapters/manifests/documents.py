"""The one document of a manifest, as a JSON-like value.

YAML or JSON, as Kubernetes reads it: times stay text, only the first document counts. What cannot be read is a
Manifest with the problem, never an exception: the other manifests are still good.
"""

from typing import Any, Final

import yaml

from flexlet.adapters import yamldepth
from flexlet.core.staticpods.pods import Manifest

MAX_BYTES: Final = 10 << 20


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader without dates."""


_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def manifest(path: str, data: bytes) -> Manifest:
    """What the bytes of a file say."""
    if len(data) > MAX_BYTES:
        return Manifest(path, problem=f"the file is larger than {MAX_BYTES >> 20} MiB")
    try:
        return Manifest(path, value=_first(data))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Manifest(path, problem=f"couldn't parse as pod: {' '.join(str(error).split())}")


def _first(data: bytes) -> Any:
    yamldepth.require(data)
    return next(iter(yaml.load_all(data, Loader=_Loader)), None)
