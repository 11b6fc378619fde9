"""Small pictures of API objects, decoded once per change and shared by all deciders that are told of it.

With thousands of pods the fields that nobody reads would cost more than those that somebody does. So a view is
flat, frozen and untracked by the garbage collector, and what many objects have in common (owners, labels,
tolerations) is one value in memory. Equal views mean: nothing changed that a decider cares about; the
resourceVersion is therefore kept beside a view, not in it, unless a write must be conditional on it.
"""
