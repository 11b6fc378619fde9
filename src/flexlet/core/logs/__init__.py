"""What container log files say and which part of it someone asked for. Pure: bytes in, bytes out.

`lines` reads the formats, `selection` keeps and prints what the options ask for, `options` reads a query,
`runs` picks the run of a container whose log is meant, `rotation` says which old files stay.
"""
