"""The jump back of a loop lies outside the protected region that the loop lies in."""


def pump(n, source):
    while True:
        n = source.more(n)
        try:
            while n:
                item = next(source)
                if item:
                    n = 1
                else:
                    n -= 1
                yield item
        except StopIteration:
            return
