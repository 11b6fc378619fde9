"""The structs of a pod in Kubernetes' internal form, in Go's order; taken from the running code of 1.36.3.

Of each struct its fields: Go's name, the name in JSON (empty: the fields stand in the object around), Go's type.
"""

import functools
import importlib.resources

import msgspec

Fields = tuple[tuple[str, str, str], ...]


@functools.cache
def pod_types() -> dict[str, Fields]:
    """By Go's name of the type, ``core.Pod`` and all below it."""
    text = importlib.resources.files("flexlet.api.schema").joinpath("internalpod.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Fields])
