"""Lines to launchers: the GuestLinks port over a control socket of this host, or through ``pods/exec``."""
