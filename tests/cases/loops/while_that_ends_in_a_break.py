"""A `break` at the end of the body lies next to the repeated test."""


def poll(source, limit):
    while source.open:
        source.read()
        if limit():
            break
    return source
