"""``flexlet demo``: what flexlet does, shown on real parts and told in plain words.

`story` runs the steps and keeps the table, `world` is what a step can look at and act on, `steps` are the steps.
A step that did not do what it said fails the demo.
"""
