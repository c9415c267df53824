"""Verifiers in any language: a process that is asked through its standard input and output."""

from simlab.certify.processes.command import Command, command

__all__ = ["Command", "command"]
