"""The state file ``cpu_manager_state``, byte for byte as kubelets of 1.36 and 1.37 write it.

=========  =====================================================  ==================
version 1  containers by id                                       very old kubelets
version 2  containers by pod uid and name                         1.36
version 3  and pods with CPUs of their own                        1.36 with its gate
version 4  version 2, and everything again in the string `data`   1.37
=========  =====================================================  ==================

Versions 2 and 3 may look the same; their checksums tell them apart. In version 4 only `data` is believed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu import dump
from flexlet.core.managers.state import CpuState, Sets
from flexlet.errors import InputError

Names = Mapping[str, tuple[str, str]]
"""Pod uid and container by the runtime's container id."""
Texts = dict[str, dict[str, str]]
LATEST: Final = 4


class CpuFile(msgspec.Struct, frozen=True):
    """A file that can be believed: its version (1 to 4) and the book in it, without `reserved`."""

    version: int
    state: CpuState


class Spoiled(msgspec.Struct, frozen=True):
    """A file that cannot be believed, and why; keep a copy and `repair.rebuild` the book."""

    why: str


class _PodEntry(msgspec.Struct, frozen=True, rename="camel"):
    cpu_set: str = ""


class _Baseline(msgspec.Struct, frozen=True):
    baseline: str = ""


class _Data(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The string inside version 4. Fields without default are always written."""

    policy_name: str
    default_cpu_set: str
    entries: Texts = {}
    pod_entries: dict[str, _PodEntry] = {}
    baselines: dict[str, dict[str, _Baseline]] = {}


class _Mirror(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What versions 2 to 4 have in common, in the order in which it is written."""

    policy_name: str
    default_cpu_set: str
    entries: Texts = {}
    pod_entries: dict[str, _PodEntry] = {}
    checksum: int


class _Dual(_Mirror, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    data: str
    data_checksum: int


class _File(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Any version as it is read; what is missing is empty."""

    policy_name: str = ""
    default_cpu_set: str = ""
    entries: dict[str, Any] = {}
    pod_entries: dict[str, _PodEntry] = {}
    checksum: int = 0
    data: str = ""
    data_checksum: int = 0


def read(text: str, names: Names | None = None) -> CpuFile | Spoiled:
    """The file. `names` gives pod uid and container of a container id, which is all that version 1 knows."""
    try:
        file = msgspec.json.decode(text, type=_File)
        if file.data or file.data_checksum:
            return _read_data(file)
        if any(isinstance(entry, str) for entry in file.entries.values()):
            return _read_by_id(file, names or {})
        return _read_entries(file)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return Spoiled(f"it cannot be read: {error}")
    except InputError as error:
        return Spoiled(f"it cannot be read: {error.message}")


def write(state: CpuState, version: int = LATEST) -> str:
    """The text of the file; version 1 cannot be written and becomes version 2, as upstream does it."""
    policy, shared, entries = state.policy, str(state.shared), _texts(state.entries)
    if version == 3:
        check = dump.checksum_with_pods(policy, shared, entries, state.pod_entries)
        return _json(
            _Mirror(
                policy_name=policy,
                default_cpu_set=shared,
                entries=entries,
                pod_entries=_pods(state),
                checksum=check,
            )
        )
    check = dump.checksum(policy, shared, entries)
    if version < LATEST:
        return _json(_Mirror(policy_name=policy, default_cpu_set=shared, entries=entries, checksum=check))
    data = _json(_data(state))
    return _json(
        _Dual(
            policy_name=policy,
            default_cpu_set=shared,
            entries=entries,
            checksum=check,
            data=data,
            data_checksum=dump.data_checksum(data),
        )
    )


def policy_mismatch(state: CpuState, policy: str) -> str | None:
    """The kubelet's words if the file was written under another policy."""
    if state.policy == policy:
        return None
    return f'configured policy "{policy}" differs from state checkpoint policy "{state.policy}"'


def _read_data(file: _File) -> CpuFile | Spoiled:
    actual = dump.data_checksum(file.data)
    if actual != file.data_checksum:
        return _wrong("dataChecksum", file.data_checksum, actual)
    data = msgspec.json.decode(file.data, type=_Data)
    state = CpuState(
        policy=data.policy_name,
        shared=CpuSet.parse(data.default_cpu_set),
        entries=_sets(data.entries),
        pod_entries=_pod_sets(data.pod_entries),
        baselines=_sets(data.baselines, lambda entry: entry.baseline),
    )
    return CpuFile(LATEST, state)


def _read_entries(file: _File) -> CpuFile | Spoiled:
    """Version 2 or 3; a checksum of 0 is that of an old writer who had none."""
    entries = msgspec.convert(file.entries, Texts)
    pods = _pod_sets(file.pod_entries)
    plain = dump.checksum(file.policy_name, file.default_cpu_set, entries)
    with_pods = dump.checksum_with_pods(file.policy_name, file.default_cpu_set, entries, pods)
    versions = {with_pods: 3} | ({} if pods else {plain: 2, 0: 2})
    if file.checksum not in versions:
        return _wrong("checksum", file.checksum, with_pods if pods else plain)
    shared = CpuSet.parse(file.default_cpu_set)
    state = CpuState(policy=file.policy_name, shared=shared, entries=_sets(entries), pod_entries=pods)
    return CpuFile(versions[file.checksum], state)


def _read_by_id(file: _File, names: Names) -> CpuFile | Spoiled:
    """Version 1. A container that does not exist any more holds nothing: its CPUs are nobody's."""
    by_id = msgspec.convert(file.entries, dict[str, str])
    actual = dump.checksum_by_id(file.policy_name, file.default_cpu_set, by_id)
    if file.checksum not in (0, actual):
        return _wrong("checksum", file.checksum, actual)
    entries: Sets = {}
    for container_id, cpus in by_id.items():
        if container_id in names:
            uid, name = names[container_id]
            entries.setdefault(uid, {})[name] = CpuSet.parse(cpus)
    shared = CpuSet.parse(file.default_cpu_set)
    return CpuFile(1, CpuState(policy=file.policy_name, shared=shared, entries=entries))


def _wrong(field: str, written: int, actual: int) -> Spoiled:
    return Spoiled(f"checkpoint is corrupted: its {field} is {written}, but its content makes {actual}")


def _data(state: CpuState) -> _Data:
    return _Data(
        policy_name=state.policy,
        default_cpu_set=str(state.shared),
        entries=_texts(state.entries),
        pod_entries=_pods(state),
        baselines={
            uid: {name: _Baseline(str(cpus)) for name, cpus in sets.items()}
            for uid, sets in state.baselines.items()
        },
    )


def _pods(state: CpuState) -> dict[str, _PodEntry]:
    return {uid: _PodEntry(str(cpus)) for uid, cpus in state.pod_entries.items()}


def _pod_sets(pods: Mapping[str, _PodEntry]) -> dict[str, CpuSet]:
    return {uid: CpuSet.parse(entry.cpu_set) for uid, entry in pods.items()}


def _texts(sets: Sets) -> Texts:
    return {uid: {name: str(cpus) for name, cpus in own.items()} for uid, own in sets.items()}


def _sets(texts: Mapping[str, Mapping[str, Any]], cpus_in: Callable[[Any], str] = str) -> Sets:
    return {uid: {name: CpuSet.parse(cpus_in(entry)) for name, entry in own.items()} for uid, own in texts.items()}


def _json(value: msgspec.Struct) -> str:
    """As Go writes it: fields in their order, keys of maps sorted."""
    return msgspec.json.encode(value, order="deterministic").decode()
