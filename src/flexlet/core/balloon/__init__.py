"""Balloons as the node that they are on sees them: who is one, and what all pods are held to beside it."""
