"""The shell around virtual machines: lines to their launchers."""
