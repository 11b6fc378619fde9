"""DaemonSets: one pod of a template on every node that suits it.

Old templates are not kept: flexlet serves no ControllerRevisions, so ``rollout history`` and ``undo`` of a
DaemonSet have nothing to go by. Pods are told apart by the hash of their template all the same.
"""
