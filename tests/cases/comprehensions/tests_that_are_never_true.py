x = [None for a in b if False]
z = {None: None for a in b if False}
w = list(None for a in b if False)
f([None for a, c in b for d in e if False], {1: 2 for a in y})
