"""A class body is code like any other."""
import sys


class Conditional:
    if sys.version_info >= (3, 9):
        modern = True
    else:
        modern = False
    for name in ('a', 'b'):
        locals()[name] = name
    del name
    try:
        import fast
    except ImportError:
        fast = None
    with open(sys.executable) as file:
        first = file.read
    while modern:
        modern = first
