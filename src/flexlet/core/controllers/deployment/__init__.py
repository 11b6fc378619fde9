"""Deployments: roll from one pod template to the next by sizing ReplicaSets, one per template."""
