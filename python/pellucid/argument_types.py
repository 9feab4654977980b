# SPDX-License-Identifier: Apache-2.0
"""Parsers for command-line values."""

import argparse
import re


def count(text: str) -> int:
    """Return a number of at least 1. Raises ArgumentTypeError for anything else.

    >>> count("12")
    12
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("expected a number of at least 1")
    return number


def columns(text: str) -> int:
    """Return the length of a line. Raises ArgumentTypeError for anything else.

    >>> columns("88")
    88
    """
    most = 100_000  # as in src/cli/arguments.cpp
    number = count(text)
    if number > most:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {most}")
    return number


def size(text: str) -> int:
    """Return a number of bytes. Raises ArgumentTypeError for anything else.

    >>> size("2G")
    2147483648
    """
    match = re.fullmatch(r"(\d+)([kmgt]?)", text.lower())
    if match is None:
        raise argparse.ArgumentTypeError("expected a number of bytes, such as 500M or 2G")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]
