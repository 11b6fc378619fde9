"""Container log files on disk: reading and following them for ``kubectl logs``, and keeping them small."""
