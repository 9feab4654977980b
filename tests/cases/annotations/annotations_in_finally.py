"""Each copy of the body has annotations of its own."""
import sys

count: int = 0
try:
    import fast as engine
except ImportError:
    engine = None
finally:
    name: str = 'engine'
    count: int = count + 1
for attempt in sys.argv:
    try:
        if attempt == 'last':
            break
        tried: list = [attempt]
    finally:
        attempts: int = count


class Settings:
    path: str

    try:
        with open('settings') as file:
            try:
                path = file.read()
            finally:
                size: int = len(path)
    finally:
        read: bool = True
        source: 'str'
