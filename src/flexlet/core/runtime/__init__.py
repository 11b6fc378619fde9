"""The container runtime's side of a node, as values: what it is asked for, and what it shows.

The words are CRI v1's, cut down to what flexlet uses. `configs` is what goes in when a sandbox or a container is
made, `shown` is what comes back when the runtime is asked. Adapters translate to and from the wire; nothing here
knows about it.
"""
