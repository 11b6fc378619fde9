"""Which pod runs where: the scheduler as a pure decider.

`world` holds what the scheduler believes (nodes, placed pods, waiting pods), folded from watch events by one
owner. `decide` looks at it and returns a Plan: bind these, evict those, tell these why they wait. Nothing here
reads a clock or the network. Words and messages are kube-scheduler's, so that ``kubectl describe`` reads as people
expect.

Two things differ from upstream on purpose: a labelled balloon is never a victim of preemption, and pods that wait
for room are tried again as soon as a node's allocatable grows, without back-off.
"""
