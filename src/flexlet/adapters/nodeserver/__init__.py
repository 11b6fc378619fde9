"""The node's HTTPS endpoint: what the API server, kubectl and monitoring ask a node.

`wire` reads and writes HTTP heads, `connection` and `listener` move them, `server` and `endpoint` put it together:
`authentication` and `authorization` decide who may ask, `routes` what is asked, and `pages`, `logs`, `streams` and
`varlog` answer. exec, attach and port-forward are passed through to the container runtime as bytes (`tunnel`).

An HTTP server of its own, and a small one: a stream that was upgraded must never be parsed again, a new serving
certificate must take effect without closing the port, and the endpoint is idle nearly always.
"""
