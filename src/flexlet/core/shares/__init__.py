"""Several agents on one host that lend each other size: who may use how much of it right now."""
