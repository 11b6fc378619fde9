"""The controllers that people expect of a cluster, as pure deciders.

Each folds observations into indexes and a queue of keys that need a look, and turns a look into API actions; none
walks all pods in a round. What they share lies beside them: the queue, ownership of pods, templates, conditions.
They follow kube-controller-manager 1.36 in what clients can see: names, statuses, conditions, reasons, events.
"""
