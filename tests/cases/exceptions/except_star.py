"""`except*`: every clause takes its part of the group, the rest is raised again."""
# since: 3.11
# reads otherwise: 3.14

def named_and_not(f, g):
    try:
        f()
    except* ValueError as group:
        g(group)
    except* (TypeError, KeyError):
        g()
    return 1


def nothing_to_do(f):
    try:
        f()
    except* ValueError:
        pass
    except* TypeError as group:
        pass


def with_else_and_finally(f, g):
    try:
        f()
    except* OSError as group:
        g(group.exceptions)
    else:
        g(0)
    finally:
        g(1)


def nested(f, g):
    try:
        try:
            f()
        except* ValueError as inner:
            raise g(inner) from None
        g(0)
    except* TypeError as outer:
        try:
            g(outer)
        except* KeyError as inner:
            g(inner)
        g(1)
    return g


def around_and_inside_of_except(f, g):
    try:
        try:
            f()
        except* ValueError as group:
            g(group)
    except TypeError as error:
        g(error)
    try:
        f()
    except* ValueError:
        try:
            g()
        except TypeError as error:
            g(error)
        finally:
            g(1)


def in_a_loop(rows, f, g):
    for row in rows:
        try:
            f(row)
        except* ValueError as group:
            for error in group.exceptions:
                if error is row:
                    break
                g(error)
            else:
                g(row)
        while f:
            try:
                f = f()
            except* OSError:
                g(f)


def left_from_the_body(rows, f, g):
    for row in rows:
        try:
            if row:
                break
            if f(row):
                continue
            if g:
                return g(row)
            f()
        except* ValueError as group:
            g(group)
        g()
    return rows


def conditions(f, g, a, b):
    try:
        f()
    except* (a if b else ValueError) as group:
        if a:
            g(group)
        elif b:
            g()
    except* a.b[0]:
        raise
    except* (a or b):
        return_value = a and b


async def awaits(f, g):
    async with f() as x:
        try:
            await x
        except* ValueError as group:
            await g(group)
            async for each in x:
                g(each)
        except* TypeError:
            with g() as y:
                await y


def generator(f):
    try:
        yield f
    except* ValueError as group:
        yield group
        yield from group.exceptions


def raises_always(f):
    try:
        f()
    except* ValueError as group:
        raise group
    except* TypeError:
        raise OSError


class Body:
    try:
        x = 1
    except* ValueError as group:
        y = group


try:
    z = 1
except* ValueError as group:
    z = 2
except* TypeError:
    pass
