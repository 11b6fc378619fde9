"""PodDisruptionBudgets: how many of the pods they cover may be evicted now.

Follows ``pkg/controller/disruption``. Not taken over: the reset of DisruptionTarget conditions whose pod was not
deleted after all.
"""
