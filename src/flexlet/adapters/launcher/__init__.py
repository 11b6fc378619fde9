"""The process beside QEMU in a launcher pod.

`rundir` says where its sockets are, `disks` makes missing ones, `process` starts or finds QEMU, `agent` talks to
the guest, `serial` shares the console, `board` holds the report and `server` hands it out. `sizing` carries out
sizes through `vcpus` and `memory`, `moving` migrations, `devices` attaches; `overhead` measures. `launcher` is all
of them at work; `bridge` is for those who come into the pod.
"""
