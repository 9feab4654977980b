"""Real models, built small, with pellucid and without: see README.md."""
