"""The shell around every decider: feeds bring observations, the loop folds and decides, the executor acts.

One loop owns one decider and nothing else touches its state, so deciders need no locks. Feeds and loops are tasks
of the app's task group; cancelling the group ends them all.
"""
