"""The embedded Kubernetes API server: one process and one data file that kubectl takes for the real thing.

Rooms inside, lowest first: `store` keeps finished bytes in revision order and knows nothing of Kubernetes;
the kinds, their defaults, validation and admission stand on it; HTTP is on top. The server keeps objects as
JSON bytes, never as Structs, so a field it does not know survives every write.
"""
