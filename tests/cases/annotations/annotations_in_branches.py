"""Annotations where not every statement runs."""
import sys
if sys.platform == 'linux':
    system: str = 'linux'
else:
    system: str = 'other'
for number in range(3):
    item: int = number


class C:
    if system:
        field: int = 1
    try:
        other: str
    finally:
        last: int
