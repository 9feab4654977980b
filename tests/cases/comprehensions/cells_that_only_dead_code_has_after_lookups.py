# since: 3.12
# Comprehensions that are part of a module's code: the first to mention a name settles how it is
# looked up.
raise {a for b in c}
if False:
    [lambda: b for b in ()]
    [lambda: a for a in ()]
