"""Jobs: run pods until enough of them have succeeded, or too many have failed.

Counting survives crashes the way upstream's does. A pod carries the finalizer
``batch.kubernetes.io/job-tracking``. When it has ended, its uid is noted in the Job's status; once that is stored,
the finalizer goes; once that is seen, the pod moves from the note into the counter. Each step follows from what is
stored, so any of them may be repeated.

Not honoured are podFailurePolicy, successPolicy and backoffLimitPerIndex: a Job that uses them fails at once with
the reason ``NotSupported``.
"""
