"""YAML 1.1 as Kubernetes reads and writes it.

``y``, ``no`` and ``on`` are booleans, also as keys; times stay text; every key becomes text. Aliases are followed,
but a document may not grow by them beyond what its bytes could hold (a "billion laughs" is refused).
"""

import math
from typing import Any, Final

import yaml

from flexlet.errors import InputError

WIDTH: Final = 80
MAX_VALUES: Final = 1_000_000


class YamlFault(InputError):
    """The document is no YAML that stands for JSON."""


class _Loader(yaml.CSafeLoader):
    """PyYAML's C loader without dates, and without a meaning for a lone ``=``."""


_UNREAD: Final = frozenset({"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"})
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _UNREAD]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.CSafeDumper):
    """PyYAML's C dumper without aliases, quoting as Go's library does."""

    def ignore_aliases(self, data: Any) -> bool:
        """Repeat instead of refer."""
        del data
        return True

    def represent_text(self, text: str) -> yaml.Node:
        """Text that could be taken for something else in double quotes, several lines as a block."""
        style = "|" if "\n" in text else None
        taken_for: str = self.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        if text in _SHORT_BOOLEANS or taken_for != _TEXT_TAG:
            style = '"'
        return self.represent_scalar(_TEXT_TAG, text, style=style)


_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_SHORT_BOOLEANS: Final = frozenset({"y", "Y", "n", "N"})
_Dumper.add_representer(str, _Dumper.represent_text)


def load(data: bytes) -> Any:
    """The JSON value a YAML document stands for."""
    try:
        value = yaml.load(data, Loader=_Loader)  # noqa: S506  a SafeLoader, less what it knows of dates
        return _Json().value(value)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        detail = " ".join(str(error).split())
        raise YamlFault(f"error converting YAML to JSON: yaml: {detail}") from None


def dump(value: Any) -> bytes:
    """A JSON value as YAML, keys sorted."""
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=WIDTH).encode()


class _Json:
    """Turns loaded YAML into JSON values, counting what aliases blow up."""

    def __init__(self) -> None:
        self._seen = 0

    def value(self, value: Any) -> Any:
        self._seen += 1
        if self._seen > MAX_VALUES:
            raise YamlFault("error converting YAML to JSON: yaml: document contains excessive aliasing")
        if isinstance(value, dict):
            return {_key(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            raise YamlFault("error converting YAML to JSON: json: unsupported value")
        return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)
