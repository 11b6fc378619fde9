"""Units as types, so that bytes, milli-CPU and weights cannot be mixed up in a resize."""

from typing import NewType

Bytes = NewType("Bytes", int)
MilliCpu = NewType("MilliCpu", int)
CpuShares = NewType("CpuShares", int)
CpuWeight = NewType("CpuWeight", int)
Microseconds = NewType("Microseconds", int)
CpuId = NewType("CpuId", int)
PodUid = NewType("PodUid", str)

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
