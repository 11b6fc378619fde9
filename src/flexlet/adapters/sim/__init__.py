"""A simulated node, in memory and in simulated time, behind the same ports as the real one.

Three layers, each knowing only those before it: a `kernel` with processes, cgroups, memory and signals; `cgroups`,
which is `flexlet.ports.cgroups.CgroupTree` on it; and `runtime`, which behaves as containerd 1.7 with runc 1.1
does and starts `programs` instead of binaries. `trouble` writes down every call and makes chosen ones fail.

What must stay true: nothing here belongs to an agent. A node outlives the agents that use it, needs no event loop
of its own, and moves only when somebody looks: whoever asks first lets everything happen that was due by then, in
the order of its time.
"""
