"""What happens to the objects an object owns: which finalizers its deletion leaves for the collector."""

from typing import Final

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.deleteoptions import DeleteOptions

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
UNSUPPORTED: Final = ("events",)  # nothing is ever owned by an event
ORPHAN_BY_DEFAULT: Final = ("batch/jobs",)
JOB_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
    "or set propagationPolicy=Orphan to suppress this warning"
)


def finalizers_after(kind: Kind, finalizers: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers of an object whose deletion starts now."""
    if kind.storage_bucket in UNSUPPORTED:
        return finalizers
    wanted = _wanted(kind, finalizers, options)
    kept = [name for name in finalizers if name not in {ORPHAN, FOREGROUND}]
    after = [*kept, wanted] if wanted else kept
    return finalizers if set(after) == set(finalizers) else after


def warn_of_default(call: Call, options: DeleteOptions) -> None:
    """Jobs keep their pods unless told otherwise, which surprises people."""
    if call.bucket == "batch/jobs" and _unsaid(options) and JOB_WARNING not in call.warnings:
        call.warnings.append(JOB_WARNING)


def _wanted(kind: Kind, finalizers: list[str], options: DeleteOptions) -> str:
    if options.orphan_dependents is not None:
        return ORPHAN if options.orphan_dependents else ""
    if options.propagation_policy is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation_policy, "")
    for name in finalizers:
        if name in {ORPHAN, FOREGROUND}:
            return name
    return ORPHAN if kind.storage_bucket in ORPHAN_BY_DEFAULT else ""


def _unsaid(options: DeleteOptions) -> bool:
    return options.orphan_dependents is None and options.propagation_policy is None
