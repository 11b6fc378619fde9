"""Reading a node's configuration files: YAML or JSON, as the kubelet takes them.

A key that is there twice is an error, as in upstream's strict decoding: the last one would win without a word.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from flexlet.adapters import yamldepth
from flexlet.core.kubeletconfig import noderesizereading, reading
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.noderesize import NodeResizeConfiguration
from flexlet.core.vm import config
from flexlet.core.vm.settings import Settings
from flexlet.errors import ConfigError


def load(path: Path | None) -> KubeletConfiguration:
    """The configuration in a file; upstream's defaults without one.

    Raises:
        ConfigError: the file cannot be read, or a line for everything in it that cannot work.
    """
    if path is None:
        return KubeletConfiguration()
    return reading.read(_document(path, "a KubeletConfiguration file with --config"), str(path))


def load_resize(path: Path | None) -> NodeResizeConfiguration:
    """How the node follows its machine, of a file; the defaults without one.

    Raises:
        ConfigError: the file cannot be read, or a line for everything in it that cannot work.
    """
    if path is None:
        return NodeResizeConfiguration()
    document = _document(path, "a NodeResizeConfiguration file with --node-resize-config")
    return noderesizereading.read(document, str(path))


def load_vms(path: Path | None) -> Settings:
    """What holds for all virtual machines, of a file; the defaults without one.

    Raises:
        ConfigError: the file cannot be read, or what in it cannot work.
    """
    if path is None:
        return Settings()
    return config.read(_document(path, "a FlexletConfig file with --vm-config"), str(path))


def _document(path: Path, wanted: str) -> Any:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}; name {wanted}") from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Any:
    """The one document in a text.

    Raises:
        ConfigError: it is no YAML, or more than one document.
    """
    try:
        yamldepth.require(text)
        return yaml.load(text, _Loader)  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{source}, line {mark.line + 1}" if mark else source
        raise ConfigError(f"{where}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: this is no YAML: {error}") from error


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML without dates, and with every key once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} is there twice", key.start_mark
                )
            seen.add(key.value)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
