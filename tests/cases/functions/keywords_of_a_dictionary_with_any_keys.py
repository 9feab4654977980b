def some(f, name, words):
    f(1, **{"one": 1, "two": words, name: True})
    f(one=1, **{name: 2})
    f(**{name: 1})
