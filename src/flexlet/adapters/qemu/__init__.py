"""QEMU: its processes, its monitor, and the directory in which a machine lives.

`binary` finds a QEMU that is new enough, `acceleration` whether KVM really works, `directory` keeps what
belongs to a machine, `processes` finds and ends what runs, `starts` counts CPUs, `machine` starts and stops,
`monitor` speaks QMP and `hypervisor` is `flexlet.ports.hypervisor.Hypervisor` on top of it.
"""
