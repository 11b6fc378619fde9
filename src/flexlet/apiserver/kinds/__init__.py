"""The built-in kinds: what the server fills in, refuses, lets change and shows of each.

One file or folder a kind; `table` lists them all, `strategy` is what they share, `metadata` and `labelselector`
hold rules that many need, `template` and `workload` those of objects that make pods. Everything works on plain
JSON dicts, does no IO and follows Kubernetes 1.36.3: same field paths, same reasons, same words. What needs to
look at other objects is admission.
"""
