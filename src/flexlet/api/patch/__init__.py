"""The patches an API server takes: JSON (RFC 6902), merge (RFC 7386), strategic merge.

Each module has `read` (bytes to a patch, with the complaints of strict reading) and `apply` (object and patch to a
new object). No function changes its arguments; results share what did not change with the original, so whoever
changes a result in place must own the original too. Server-side apply is not here: flexlet keeps no field owners.
"""
