"""Shipped tests and builders on top of the adapters.

The contracts say what every adapter of a port must do. They are plain functions, so that they run under a test
runner on simulated adapters and, by ``python3 -m``, on a node with a real kernel and a real runtime.
"""
