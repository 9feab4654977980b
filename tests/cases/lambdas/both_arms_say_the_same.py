f = lambda: a if b else a
g = lambda: [] if b else []
