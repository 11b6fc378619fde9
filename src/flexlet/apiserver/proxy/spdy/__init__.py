"""As much of SPDY/3.1 as Kubernetes' streams need: a client that opens streams and moves bytes.

Container runtimes speak it for exec and attach, and only it can say "no more input". No flow control, no push, no
priorities: the servers at the other end have none.
"""
