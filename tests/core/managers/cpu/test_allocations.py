from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.core.managers.cpu.grounds import cpus, ground, machine, only, placed, pod

from flexlet.core.managers.cpu.static import fresh
from flexlet.core.managers.state import CpuState, Refusal

ROWS = yaml.safe_load((Path(__file__).parent / "allocations.yaml").read_text())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['machine']} {row.get('options', '')}")
def test_pods_get_the_cpus_that_kubernetes_gives_them(row: dict[str, Any]) -> None:
    whole = machine(*row["machine"])
    here = only(whole, cpus(row["online"])) if "online" in row else whole
    floor = ground(here, *row.get("options", ()), reserve=row["reserve"])
    state = fresh(floor)
    got = []
    for number, (count, _) in enumerate(row["asks"]):
        after = placed(state, floor, pod(f"p{number}", count))
        state = state if isinstance(after, Refusal) else after
        got.append([count, _words(after, f"p{number}")])
    assert (str(state.reserved), got, str(state.shared)) == (row["reserved"], row["asks"], row["shared"])


def _words(after: CpuState | Refusal, uid: str) -> str:
    if isinstance(after, CpuState):
        return str(after.cpus_of(uid, "c0"))
    return after.message.removeprefix("Allocate failed due to ").removesuffix(", which is unexpected")
