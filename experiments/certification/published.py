"""``python -m experiments.certification.published``, a command that there was: it says what replaces it."""

import sys

INSTEAD = "simlab certify NAME --checkout FOLDER; simlab certify --list names what can be certified"

if __name__ == "__main__":
    print(f"python -m experiments.certification.published is now {INSTEAD}", file=sys.stderr)
    sys.exit(2)
