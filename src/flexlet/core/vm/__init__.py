"""Virtual machines that change size by resizing their pod in place: what a FlexVM wants, needs and gets.

Pure, like all of the core. `objects` is what users write and read, `guest` what a launcher is told and tells; the
rest decides between both.
"""
