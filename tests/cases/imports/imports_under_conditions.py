"""Imports in branches and handlers."""
try:
    import fast as engine
    from fast import run
except ImportError:
    import slow as engine
    run = engine.run
if engine:
    from os import path
else:
    path = None
