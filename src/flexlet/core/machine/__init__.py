"""The machine as a node reports it: what it has, and what of that pods may request."""
