"""From a document to a KubeletConfiguration, and from flags on top of it.

Each field is read on its own, so that one mistake does not hide the next. As in the kubelet, null stands for an
absent field, and so does a zero, except where upstream's type is a pointer (`ZERO_COUNTS`): ``port: 0`` is 10250,
``healthzPort: 0`` is no port.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from flexlet.core.kubeletconfig import checks, support
from flexlet.core.kubeletconfig.config import API_VERSION, KIND, ConfigStruct, KubeletConfiguration
from flexlet.core.kubeletconfig.problems import Problem, refuse
from flexlet.core.kubeletconfig.scalars import plain, scalar
from flexlet.core.machine.allocatable import DEFAULT_EVICTION_HARD

COMMAND_LINE: Final = "command line"
ZERO_COUNTS: Final = frozenset(
    {
        "containerLogMaxFiles",
        "containerLogMonitorInterval",
        "cpuCFSQuotaPeriod",
        "crashLoopBackOff.maxContainerRestartPeriod",
        "eventRecordQPS",
        "healthzPort",
        "imageGCHighThresholdPercent",
        "imageGCLowThresholdPercent",
        "kubeAPIQPS",
        "maxParallelImagePulls",
        "memoryThrottlingFactor",
        "nodeStatusMaxImages",
        "oomScoreAdj",
        "podPidsLimit",
        "registryPullQPS",
        "resolvConf",
    }
)
_META: Final = {"apiVersion": API_VERSION, "kind": KIND}


def read(value: Any, source: str) -> KubeletConfiguration:
    """The configuration in a document; `source` is what error messages call it.

    Raises:
        ConfigError: a line for every field that is unknown, not supported, unreadable or against the rules.
    """
    if not isinstance(value, Mapping):
        refuse(source, [Problem("", f"this is no {KIND}; start it with `kind: {KIND}`")])
        return KubeletConfiguration()
    reader = _Reader()
    reader.problems += _wrong_kind(value)
    config = reader.config({key: part for key, part in value.items() if key not in _META})
    known = {problem.path for problem in reader.problems}
    refuse(source, [*reader.problems, *(each for each in checks.problems(config) if each.path not in known)])
    return config


def merge(config: KubeletConfiguration, overrides: Mapping[str, Any]) -> KubeletConfiguration:
    """The configuration with what the command line says on top; the command line wins.

    `overrides` is shaped like the file, absent or None where no flag was given. Parts and feature gates are merged
    name by name, other maps and lists replaced, as the kubelet does with its flags.

    Raises:
        ConfigError: the sum cannot work.
    """
    return read(_META | _merged(to_value(config), overrides), COMMAND_LINE)


def to_value(config: KubeletConfiguration) -> dict[str, Any]:
    """The configuration as the document that would give it."""
    value: dict[str, Any] = msgspec.to_builtins(config, enc_hook=plain)
    return value


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for name, value in above.items():
        old = result.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping) and _is_merged(name):
            result[name] = _merged(old, value)
        elif value is not None:
            result[name] = value
    return result


def _is_merged(name: str) -> bool:
    return name == "featureGates" or any(
        field.encode_name == name and _is_part(field.type) for field in _part_fields()
    )


def _part_fields() -> Iterator[Any]:
    pending: list[Any] = [KubeletConfiguration]
    while pending:
        for field in msgspec.structs.fields(pending.pop()):
            yield field
            if _is_part(field.type):
                pending.append(field.type)


def _is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, ConfigStruct)


def _wrong_kind(value: Mapping[str, Any]) -> Iterator[Problem]:
    for name, wanted in _META.items():
        if value.get(name) != wanted:
            yield Problem(name, f"this is {value.get(name)!r}; set {wanted}")


class _Reader:
    """Reads part by part and notes what it cannot."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def config(self, value: Mapping[str, Any]) -> KubeletConfiguration:
        given = self._fields(KubeletConfiguration, value, "")
        return KubeletConfiguration(**(given | _dependent(given)))

    def _fields(self, kind: Any, value: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        given: dict[str, Any] = {}
        for name, part in value.items():
            path = f"{prefix}{name}"
            if name not in known:
                self._foreign(path, part, known)
            elif part is not None:
                given |= self._field(known[name], part, path)
        return given

    def _field(self, field: Any, part: Any, path: str) -> dict[str, Any]:
        if _is_part(field.type):
            if not isinstance(part, Mapping):
                self._note(path, f"Expected `object`, got `{type(part).__name__}`")
                return {}
            return {field.name: field.type(**self._fields(field.type, part, f"{path}."))}
        try:
            found = msgspec.convert(part, field.type, dec_hook=scalar)
        except msgspec.ValidationError as error:
            self._note(path, str(error))
            return {}
        is_absent = isinstance(found, str | int | float) and not found and path not in ZERO_COUNTS
        return {} if is_absent and not isinstance(found, bool) else {field.name: found}

    def _foreign(self, path: str, value: Any, known: Mapping[str, Any]) -> None:
        refusal = support.REFUSED.get(path)
        if refusal is not None:
            if not support.is_harmless(refusal, value):
                self._note(path, f"{_shown(value)} is not supported: {refusal.remedy}")
        elif path not in support.IDLE:
            self._note(path, f"there is no such field; {_suggestion(path, known)}")

    def _note(self, path: str, text: str) -> None:
        complaint, _, inside = text.partition(" - at `$")
        self.problems.append(Problem(path + inside.rstrip("`"), complaint))


def _dependent(given: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults that depend on what else is given."""
    found: dict[str, Any] = {}
    if "node_status_update_frequency" in given:
        found["node_status_report_frequency"] = given["node_status_update_frequency"]
    if (given.get("max_parallel_image_pulls") or 0) > 1:
        found["serialize_image_pulls"] = False
    found = {name: value for name, value in found.items() if name not in given}
    if given.get("merge_default_eviction_settings") and "eviction_hard" in given:
        found["eviction_hard"] = {**DEFAULT_EVICTION_HARD, **given["eviction_hard"]}
    if given.get("pod_pids_limit", 0) < 0:
        found["pod_pids_limit"] = -1
    return found


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


def _suggestion(path: str, known: Mapping[str, Any]) -> str:
    import difflib  # only a wrong file needs it

    prefix, _, name = path.rpartition(".")
    others = [*known, *(each for each in support.REFUSED if "." not in each and not prefix)]
    near = difflib.get_close_matches(name, others, n=1)
    return f"did you mean {near[0]}?" if near else "remove it"
