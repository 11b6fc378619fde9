"""The Kubernetes vocabulary: frozen Structs, quantities, Status errors, patches, selectors.

Everything here is a value or a function of values; nothing reaches the network, the disk or the clock. Structs
hold the fields flexlet reads, so they are never written back: what is sent to a server is a patch.
"""
