def wait(state, lock, expected):
    with lock:
        took = now() - started
        if not state and expected * 0.6 < took < expected * 10.0:
            state.value = True


def other(lock, x, y, z):
    with lock:
        if x < y < z and lock:
            use(x)
