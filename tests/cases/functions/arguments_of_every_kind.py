"""Positional-only, keyword-only, starred and defaulted arguments keep their places."""


def plain(a, b):
    return a, b


def positional_only(a, b, /, c):
    return a, b, c


def keyword_only(a, *, b, c=1):
    return a, b, c


def all_of_them(a, b=1, /, c=2, *rest, d, e=3, **more):
    return a, b, c, rest, d, e, more


def starred_alone(*arguments, **options):
    return arguments, options
