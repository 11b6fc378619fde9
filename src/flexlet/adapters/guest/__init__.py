"""Commands inside a machine, over a serial port: the server in the guest and the client on the host.

No network, no keys, no ssh: whoever may open the machine's socket (mode 0600) is root inside, as with its disk.
`wire`, `command` and `server` run in the guest on the standard library alone; `client` is the host's side.
"""
