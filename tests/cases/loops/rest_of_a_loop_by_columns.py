# reads otherwise: 3.8 3.9 3.10
"""What follows a test in a loop, or a loop without `break`, stands where its columns are."""


def returns_what_it_finds(self):
    while True:
        try:
            found = self.pop()
        except KeyError:
            raise LookupError from None
        item = found()
        if item is not None:
            return item


def returns_before_the_rest(pattern, name):
    i = 0
    while True:
        if pattern.match(name, i):
            return True
        i = name.find(".", i) + 1
        if not i:
            return False


def has_an_else_without_break(a, b):
    for name in a:
        if not b(name):
            return False
    else:
        return True


def leaves_by_break(current, seen):
    while current is not None:
        if current in seen:
            break
        seen.append(current)
        current = current.next


def leaves_by_return(queue, work):
    while True:
        if queue.full():
            return
        try:
            item = work.get()
        except KeyError:
            return
        else:
            queue.put(item)
