first = [n for n in rows]
second = {n for row in rows}
third = [(n, [n for n in rows]) for row in rows]
