"""Why a container gets no CPUs of its own, in the kubelet's words."""

from typing import Final

from flexlet.core.managers.state import Refusal

UNEXPECTED: Final = "UnexpectedAdmissionError"
SMT_ALIGNMENT: Final = "SMTAlignmentError"


def not_enough(requested: int, available: int) -> Refusal:
    """There are fewer CPUs than asked for."""
    why = f"not enough cpus available to satisfy request: requested={requested}, available={available}"
    return Refusal(UNEXPECTED, f"Allocate failed due to {why}, which is unexpected")


def miscounted(missing: int) -> Refusal:
    """CPUs were to be taken evenly, and the nodes that were chosen for it have too few."""
    why = f"accounting error, not enough CPUs allocated, remaining: {missing}"
    return Refusal(UNEXPECTED, f"Allocate failed due to {why}, which is unexpected")


def not_whole_cores(requested: int, threads: int) -> Refusal:
    """Whole cores are the rule, and the request is not a number of whole cores."""
    message = f"SMT Alignment Error: requested {requested} cpus not multiple cpus per core = {threads}"
    return Refusal(SMT_ALIGNMENT, message)


def not_enough_cores(requested: int, available: int, threads: int) -> Refusal:
    """Whole cores are the rule, and too few are free."""
    return Refusal(
        SMT_ALIGNMENT,
        "SMT Alignment Error: not enough free physical CPUs: "
        f"available physical CPUs = {available}, requested CPUs = {requested}, CPUs per core = {threads}",
    )
