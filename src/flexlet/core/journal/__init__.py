"""What the agent writes down of its doings, and how that reads.

`notes` makes short entries of observations, deeds and events, `words` turns an entry into a sentence, `chain`
finds the entries of one pod. Enough is kept to explain why something happened. A journal is no recording: pods
appear with what changed of them, looks at the runtime with what is new, and answers of probes only when they
differ; so decisions cannot be replayed from it.
"""
