"""The shell around the node agent's mind: it learns, lets `flexlet.core.agent` decide, acts and reports.

`loop` owns the picture of all pods; nothing else changes it. `hands` carry out deeds through the ports, each in a
task of its own, and hand their ends back as observations. `watching` turns the runtime's hints into observations,
`ledger` keeps allocated and actuated on disk, `journal` remembers what was learned and decided.
"""
