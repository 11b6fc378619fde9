"""The world's side of the ports: one package per outside system, each with exactly one outside library."""
