"""Events to the text of files: pure functions, no torch."""
