"""Noticing that the machine changed: when to look, what to believe, when to act (node-resize.md §2)."""
