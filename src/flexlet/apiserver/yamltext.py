"""YAML 1.1 as Kubernetes reads and writes it.

``y``, ``no`` and ``on`` are booleans, also as keys; times stay text; every key becomes text. Request bodies are
read with bounds: PyYAML's C parser gives one event after the other, and the document is built from them here, so
that depth and size are known before they do harm. PyYAML's own composer follows the depth of a document on the C
stack, and a few kilobytes of ``[`` end the process. Anchors, aliases and merge keys are refused: what they stand
for can be written out, as kubectl does before it sends anything.
"""

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any, Final

import yaml
import yaml._yaml

from flexlet.api import gojson
from flexlet.errors import InputError

WIDTH: Final = 80
MAX_DEPTH: Final = gojson.MAX_DEPTH
MAX_VALUES: Final = gojson.MAX_VALUES
MAX_DIRECTIVES: Final = 8
"""``%TAG`` lines: libyaml compares each with all before it."""
MAX_NUMBER: Final = 310
"""A plain scalar that is longer is text: no float64 has more digits, and longer integers take their time."""

_TAG: Final = "tag:yaml.org,2002:"
_TEXT_TAG: Final = f"{_TAG}str"
_UNREAD: Final = frozenset({f"{_TAG}timestamp", f"{_TAG}value"})
_MERGE: Final = f"{_TAG}merge"


class YamlFault(InputError):
    """The document is no YAML that stands for JSON."""


class _Scalars(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """PyYAML's rules for scalars, without dates and without a meaning for a lone ``=``."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)


_Scalars.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _UNREAD]
    for first, resolvers in yaml.resolver.Resolver.yaml_implicit_resolvers.items()
}
_SCALARS: Final = _Scalars()


def _binary(node: yaml.ScalarNode) -> str:
    try:
        return base64.b64decode("".join(node.value.split()), validate=True).decode(errors="replace")
    except binascii.Error:
        raise _fault("!!binary value contains invalid base64 data") from None


_READERS: Final[dict[str, Callable[[yaml.ScalarNode], Any]]] = {
    f"{_TAG}null": lambda _: None,
    f"{_TAG}bool": _SCALARS.construct_yaml_bool,
    f"{_TAG}int": _SCALARS.construct_yaml_int,
    f"{_TAG}float": _SCALARS.construct_yaml_float,
    f"{_TAG}binary": _binary,
    f"{_TAG}timestamp": lambda node: node.value,
    _TEXT_TAG: lambda node: node.value,
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


_SHORT_BOOLEANS: Final = frozenset({"y", "Y", "n", "N"})
_Dumper.add_representer(str, _Dumper.represent_text)


def load(data: bytes) -> Any:
    """The JSON value a YAML document stands for."""
    text = _utf8(data)
    if text.count(b"%TAG") > MAX_DIRECTIVES:
        raise _fault(f"document has more than {MAX_DIRECTIVES} %TAG directives")
    try:
        return _Document(yaml._yaml.CParser(text)).read()  # noqa: SLF001  the parser without PyYAML's composer
    except yaml.YAMLError as error:
        raise _fault(" ".join(str(error).split())) from None


def _utf8(data: bytes) -> bytes:
    """The document without a byte order mark; UTF-16, which YAML allows, becomes UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def dump(value: Any) -> bytes:
    """A JSON value as YAML, keys sorted."""
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=WIDTH).encode()


class _Document:
    """A document in the making: the open containers on a stack of its own, so depth costs no frames."""

    def __init__(self, parser: Any) -> None:
        self._next = parser.get_event
        self._open: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str | None] = []
        """By open container: the key that waits for its value, if it is a map."""
        self._left = MAX_VALUES
        self._value: Any = None

    def read(self) -> Any:
        documents = 0
        while (event := self._next()) is not None:
            if type(event) is yaml.ScalarEvent:
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._open.pop()
                self._keys.pop()
            elif isinstance(event, yaml.AliasEvent):
                raise _no_aliases()
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _fault("expected a single document in the stream but found another document")
        return self._value

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if event.anchor:
            raise _no_aliases()
        is_key = self._is_key()
        found = _scalar(event, is_key=is_key)
        if is_key:
            self._keys[-1] = _key(found)
        else:
            self._put(found)

    def _is_key(self) -> bool:
        return bool(self._open) and self._keys[-1] is None and isinstance(self._open[-1], dict)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        if event.anchor:
            raise _no_aliases()
        if self._is_key():
            raise _fault("a map or a list cannot be a key")
        if len(self._open) >= MAX_DEPTH:
            raise _fault(f"exceeded max depth of {MAX_DEPTH}")
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
        if event.tag not in {None, "!", f"{_TAG}{kind}"}:
            raise _fault(f"could not determine a constructor for the tag {event.tag!r}")
        container: dict[str, Any] | list[Any] = {} if kind == "map" else []
        self._put(container)
        self._open.append(container)
        self._keys.append(None)

    def _put(self, value: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise _fault(gojson.TOO_MANY)
        if not self._open:
            self._value = value
            return
        container = self._open[-1]
        if isinstance(container, dict):
            container[self._keys[-1] or ""] = value
            self._keys[-1] = None
        else:
            container.append(value)


def _scalar(event: yaml.ScalarEvent, *, is_key: bool) -> Any:
    text: str = event.value
    tag = event.tag
    if tag is None:
        # Plain scalars may be numbers and such; quoted ones are text.
        if not event.implicit[0] or len(text) > MAX_NUMBER:
            return text
        tag = _SCALARS.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if tag in {_TEXT_TAG, "!"}:
        return text
    if tag == _MERGE:
        if is_key:
            raise _no_aliases()
        return text
    reader = _READERS.get(tag)
    if reader is None:
        raise _fault(f"could not determine a constructor for the tag {tag!r}")
    return _read(reader, tag, text)


def _read(reader: Callable[[yaml.ScalarNode], Any], tag: str, text: str) -> Any:
    if len(text) > MAX_NUMBER and tag in {f"{_TAG}int", f"{_TAG}float"}:
        raise _fault(f"cannot read a number of {len(text)} characters")
    try:
        value = reader(yaml.ScalarNode(tag, text))
    except (ValueError, KeyError, IndexError):
        raise _fault(f"cannot read {text[:100]!r} as {tag}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlFault("error converting YAML to JSON: json: unsupported value")
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)


def _fault(detail: str) -> YamlFault:
    return YamlFault(f"error converting YAML to JSON: yaml: {detail}")


def _no_aliases() -> YamlFault:
    return _fault("anchors, aliases and merge keys are not accepted: write out what they stand for")
