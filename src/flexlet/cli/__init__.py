"""The command line: one file per verb, each loaded only when its verb is used.

A command parses its arguments, calls the core, an app or the API, and prints. Data goes to stdout, talk to stderr;
exit code 0 done, 1 failed, 2 wrong usage, 3 refused by the cluster.
"""
