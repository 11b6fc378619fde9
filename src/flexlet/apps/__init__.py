"""Composition roots: they wire ports to adapters and deciders to loops, and hold no logic of their own."""
