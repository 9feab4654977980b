# since: 3.11
# reads otherwise: 3.11+


def at_its_start(a):
    with a:
        try:
            pass
        except* ValueError:
            b()


def with_a_name(a):
    with a as x, b:
        try:
            pass
        except* ValueError as e:
            c(e)
        finally:
            d()
    return x


def within_another(a):
    try:
        for x in a:
            with x:
                with a:
                    try:
                        pass
                    except* OSError:
                        b()
    except* E:
        c()


def within_a_choice(a):
    with a:
        if a:
            try:
                pass
            except* OSError:
                b()
        else:
            c()


async def asynchronously(a):
    async with a:
        try:
            pass
        except* OSError as e:
            await b(e)


class Body:
    with z:
        try:
            pass
        except* OSError:
            b()
