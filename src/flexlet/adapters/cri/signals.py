"""Signals by the names of the API, ``SIGRTMIN+1``, and as the wire has them, ``SIGRTMINPLUS1``."""

from typing import Final

from flexlet.adapters.cri._gen import cri_pb2 as pb

_DEFAULT: Final = "RUNTIME_DEFAULT"


def sent(name: str) -> str:
    """The runtime's default for no signal, and for one that it does not know."""
    wire = name.replace("+", "PLUS").replace("-", "MINUS")
    return wire if wire in set(pb.Signal.keys()) else _DEFAULT


def shown(signal: pb.Signal) -> str:
    """Empty if the runtime does not tell."""
    if signal == pb.RUNTIME_DEFAULT or signal not in pb.Signal.values():
        return ""
    return pb.Signal.Name(signal).replace("PLUS", "+").replace("MINUS", "-")
