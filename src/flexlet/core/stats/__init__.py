"""How much the node, its pods and their containers use, from the kernel's files to what monitoring reads.

`cgroupfiles` and `procfiles` read texts, `readings` are what was measured at one moment, `sources` say what is to
be measured. From these come ``/stats/summary`` (`summary`), ``/metrics/resource`` (`resource`) and
``/metrics/cadvisor`` (`cadvisor`); `exposition` prints the latter two. Pure: texts and times are arguments.

What must stay true everywhere: unknown is absent, never 0.
"""
