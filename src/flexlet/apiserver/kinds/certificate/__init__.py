"""CertificateSigningRequests: the kind and its three paths (`kind`), their rules (`rules`), PEM (`pem`).

Who asks is stamped into the spec by `requester`, an admission plugin: only the pipeline knows the caller.
"""
