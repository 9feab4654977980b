"""Hook calls to events, and events to files, while the program runs."""
