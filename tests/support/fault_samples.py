"""Where the inputs lie on which Mailroom once went wrong: the README there says what is right for each."""

from pathlib import Path

FAULT_SAMPLES = Path(__file__).with_name("samples") / "faults"
