"""A node's own certificates: what to ask for, when, and what comes next.

A node has two: one to speak to the API server, one to be spoken to. Both are asked for with a
CertificateSigningRequest and renewed long before they end. Everything here is decided from values; keys and files
are the business of `flexlet.adapters.pki`, the requests themselves of `flexlet.engine.certificates`.
Follows ``client-go/util/certificate`` and ``pkg/kubelet/certificate`` of 1.36.3.
"""
