"""ReplicaSets: keep as many pods of a template as asked for."""
