# reads otherwise: 3.10 3.11 3.12 3.13 3.14
def choice(self, a, b):
    try:
        yield self
    finally:
        if a:
            if b == 1:
                print(1, end='')
            else:
                print(2)
        self.d = False


def loop(stack, g):
    try:
        g(stack)
    finally:
        while stack:
            a, b = stack.pop()
            if a is g:
                try:
                    g(b)
                except OSError as e:
                    loop(e, g)


def with_and_raise(lock, a):
    try:
        a()
    except:
        with lock:
            pass
        raise
