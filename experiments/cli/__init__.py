"""The command line ``simlab``: a module a command, assembled in :mod:`experiments.cli.main`.

A command is a function whose annotated parameters are its arguments and options, and whose docstring is its help. It
imports what it uses when it runs, so that ``simlab --help`` loads no numerical library.
"""
