"""Manifests of static pods in a directory of the host."""
