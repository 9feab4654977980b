"""Literals, dotted names, captures and wildcards."""
# since: 3.10
import signal


def literals(x):
    match x:
        case 0:
            return 'zero'
        case -1 | 1.5 | 2 + 3j:
            return 'number'
        case 'a' | b'b':
            return 'text'
        case None | True | False:
            return 'singleton'


def dotted(x):
    match x:
        case signal.SIGINT:
            return 1
        case signal.SIGTERM as stop:
            return stop


def capture(x):
    match x:
        case 1 | 2 as small:
            return small
        case other:
            return other
