"""The columns of each built-in kind's Table form, as kube-apiserver 1.36.3 describes them.

The texts are data (`columns.json`): kubectl shows the names, `kubectl get -v=8` and other clients the rest. A
string in a kind's list stands for one of the shared columns (Name, Age, Created At).
"""

from importlib import resources
from typing import Final

import msgspec

from flexlet.apiserver.contract.kind import Column


class _Document(msgspec.Struct, frozen=True):
    shared: dict[str, Column]
    kinds: dict[str, tuple[str | Column, ...]]


def _read() -> dict[str, tuple[Column, ...]]:
    data = resources.files(__package__).joinpath("columns.json").read_bytes()
    document = msgspec.json.decode(data, type=_Document)
    return {
        kind: tuple(document.shared[column] if isinstance(column, str) else column for column in columns)
        for kind, columns in document.kinds.items()
    }


COLUMNS: Final = _read()
"""Columns by kind; `events.k8s.io` shares the core group's."""
