"""Everything that follows from one pod, put together for people and programs that only want to look.

`figures` holds the numbers under the names of the recorded vectors, `origins` says in words where each comes from,
`checks` finds what would make the numbers meaningless. Nothing is decided here: the rules live in
`flexlet.core.resources` and `flexlet.core.cgroups`.
"""
