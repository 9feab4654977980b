"""All that knows what torch looks like inside: hooks, tables of what is where, readers."""
