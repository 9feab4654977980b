"""Elements, conditions and sources that are comprehensions themselves."""


def matrix(rows):
    return [[x for x in row] for row in rows]


def source(rows):
    return [x for x in [y for y in rows]]


def condition(rows, seen):
    return [x for x in rows if [y for y in seen if y != x]]


def mixed(rows):
    return {tuple(x for x in row): {x: [x for x in row] for x in row} for row in rows}
