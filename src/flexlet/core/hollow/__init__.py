"""Simulated nodes: they register, heartbeat, run pods that need no machine, and resize them in place.

A fleet of any number of hollow nodes is one decider, so a thousand of them cost one watch and little memory. What
they report is what a real node would: allocated and actual resources, resize conditions and events. A pod of a Job
finishes by itself after a second, or after the seconds its annotation says; all others run until deleted.
"""
