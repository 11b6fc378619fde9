"""Seams between what is decided and what touches the world: small Protocols, one file each."""
