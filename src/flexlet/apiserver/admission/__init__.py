"""Admission: what depends on other objects, or on who is asking, before a write is stored.

One plugin a file, in the order of `chain`. Each follows the plugin of the same name in Kubernetes 1.36.3: what it
looks at, in which phase it refuses and with which words. Arithmetic and policies are in `flexlet.core` (quota,
limits, podsecurity); here is only what reads the store and shapes the refusal.

For a subresource, `request.kind` is the kind of the object it belongs to and `request.obj` the body (an Eviction,
a Binding, a TokenRequest). For a deletion `request.obj` is None and `request.old` the stored object.
"""
