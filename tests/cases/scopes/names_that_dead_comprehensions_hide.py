"""A comprehension that nothing runs is inlined (3.12+), and hides its names from itself alone."""
# reads otherwise: 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15
name
other


def of_an_assertion(items):
    assert True, [name for name in items]
    return lambda: name


def in_others(items):
    assert 1, [name for name in items if [other for other in name]]

    async def inside():
        return name, [name for each in other]

    return inside, (other for each in items)


class Holder:

    def method(self):
        assert True, {name: other for name in self for other in name}

        def inside():
            return name

        return inside, other
