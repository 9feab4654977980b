# since: 3.12
a = {None: None for d in e if False for f in ()}
g = [lambda: h for h in i if False]
h = {None for k.l in m if False}
