"""The node agent's mind: what it believes of its pods, and what it wants done next.

`record` is the picture of one pod, `observations` is all that can be learned, `deeds` all that can be done.
`fold` takes an observation into a record, `lifecycle` decides what to do now, `status` renders what the API is
told. A deed that takes time is *under way* in the record until its end is observed, so nothing is asked for twice
and nobody waits for a slow pull to stop a pod.

Everything in a record can be learned again from the API, the runtime, the cgroup tree and the two checkpoints: an
agent that dies between any two deeds recovers to the same end.
"""
