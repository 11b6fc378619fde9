"""The real host: /proc, /sys and a few files of /etc, below a root that may be any directory."""
