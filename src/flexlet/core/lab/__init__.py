"""The lab's machines, the pure half: what to start, what to plug where, what an answer of QEMU means.

`spec` says how big a machine may be, `devices` what can be plugged, `plans` which of them a wish comes to,
`arguments` the QEMU command line, `answers` and `events` what QMP says, `unplugging` when an unplug is proven.
Follows QEMU 10 (``qapi/{machine,qdev,acpi}.json``). Nothing here starts a process or opens a socket.
"""
