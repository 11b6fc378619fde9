"""The pure core: what flexlet believes and what follows from it.

Functions of values only. No clock, no disk, no network: time is an argument, plans are data.
"""
