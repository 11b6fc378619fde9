"""From a document to a NodeResizeConfiguration: each field on its own, so that no mistake hides the next."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from flexlet.api.quantity import Quantity
from flexlet.core.kubeletconfig.noderesize import KIND, META, NodeResizeConfiguration
from flexlet.core.kubeletconfig.problems import Problem, refuse
from flexlet.core.kubeletconfig.scalars import scalar
from flexlet.core.machine.parts import Part

_FIELDS: Final = {field.encode_name: field for field in msgspec.structs.fields(NodeResizeConfiguration)}
_ABOVE_ZERO: Final = frozenset(
    {"confirmReads", "evictionRetryPeriod", "maxDelay", "offlineTimeout", "pollInterval", "prepareTimeout"}
)


def read(value: Any, source: str) -> NodeResizeConfiguration:
    """The configuration in a document; `source` is what error messages call it.

    Raises:
        ConfigError: a line for every field that is unknown, unreadable or against the rules.
    """
    if not isinstance(value, Mapping):
        refuse(source, [Problem("", f"this is no {KIND}; start it with `kind: {KIND}`")])
        return NodeResizeConfiguration()
    given: dict[str, Any] = {}
    found = list(_wrong_kind(value))
    for name, part in value.items():
        if name not in META and part is not None:
            taken = _taken(name, part)
            if isinstance(taken, Problem):
                found.append(taken)
            else:
                given[_FIELDS[name].name] = taken
    config = NodeResizeConfiguration(**given)
    refuse(source, [*found, *problems(config)])
    return config


def problems(config: NodeResizeConfiguration) -> Iterator[Problem]:
    """What cannot work although it can be read."""
    yield from _too_small(config)
    if config.max_delay < config.quiet_period:
        text = f"{config.max_delay} is less than quietPeriod {config.quiet_period}; set at least that"
        yield Problem("maxDelay", text)
    if config.unplug.quiet_period < 0:
        yield Problem("unplug.quietPeriod", f"this is {config.unplug.quiet_period}; set 0 or more")
    for index, name in enumerate(config.keep_offline):
        if Part.find(name) is None:
            text = f"{name!r} is no part of a machine; write cpuN or memoryN, as under /sys/devices/system"
            yield Problem(f"keepOffline[{index}]", text)


def _too_small(config: NodeResizeConfiguration) -> Iterator[Problem]:
    for name, field in _FIELDS.items():
        value = getattr(config, field.name)
        amount = value.value if isinstance(value, Quantity) else value
        if not isinstance(amount, int | float):
            continue
        if amount < 0 or (amount == 0 and name in _ABOVE_ZERO):
            yield Problem(name, f"this is {value}; set {'more than 0' if name in _ABOVE_ZERO else '0 or more'}")


def _taken(name: str, part: Any) -> Any:
    """The value of a field, or the problem with it."""
    field = _FIELDS.get(name)
    if field is None:
        near = difflib.get_close_matches(name, _FIELDS, n=1)
        return Problem(name, f"there is no such field; {f'did you mean {near[0]}?' if near else 'remove it'}")
    try:
        return msgspec.convert(part, field.type, dec_hook=scalar)
    except msgspec.ValidationError as error:
        complaint, _, inside = str(error).partition(" - at `$")
        inside = inside.rstrip("`")
        return Problem(name + inside, complaint + _choices(field.type, inside.strip(".")))


def _choices(kind: Any, inside: str) -> str:
    """What could be written instead, where that is one of a few words; `inside` is a field of a field."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        own = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        return _choices(own[inside], "") if inside in own else f"; it has {', '.join(own)}"
    words = getattr(kind, "__args__", ())
    return f"; choose {', '.join(words)}" if words and all(isinstance(word, str) for word in words) else ""


def _wrong_kind(value: Mapping[str, Any]) -> Iterator[Problem]:
    for name, wanted in META.items():
        if value.get(name) != wanted:
            yield Problem(name, f"this is {value.get(name)!r}; set {wanted}")
