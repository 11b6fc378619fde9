"""``python -m flexlet`` is the ``flexlet`` command."""

from flexlet.cli.main import main

if __name__ == "__main__":
    main()
