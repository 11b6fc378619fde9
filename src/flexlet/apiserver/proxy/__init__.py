"""Logs, exec, attach and port-forward: requests that the node answers, handed through.

The server finds the node, opens a connection with its own client certificate, and passes bytes both ways. Between
the server and a flexlet node exec, attach and port-forward are WebSockets, as between kubectl and the server, so
frames are passed on unread.
"""
