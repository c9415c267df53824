"""What a person runs: the command line, verification, measurements on real input."""
