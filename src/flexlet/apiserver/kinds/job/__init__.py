"""Jobs: the kind (`kind`), its spec (`spec`, `policies`), its status (`status`), ranges of indexes (`indexes`)."""
