{f'' and (lambda: name): 0 for name in rows}
[0 if b'x' else (name for row in rows) for name in rows]
def of_a_function(rows):
    return {f'x' or (lambda: name) for name in rows}
