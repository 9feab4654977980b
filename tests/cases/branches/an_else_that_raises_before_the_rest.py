"""An `else` that never falls through, before what follows the `if`."""


def raises(state, f):
    if state.x == 1:
        state.x = 2
    else:
        raise ValueError(state)
    f(state)
    for a in state:
        f(a)
    return state


def returns(state, f):
    if state.x is None:
        state.buffer = f
    else:
        state.x -= f(state)
        return
    state.y = f()
    state.x = 0


def in_a_loop(states, f):
    for state in states:
        if f(state):
            state.x = 1
        else:
            f(states)
            break
        f(state.x)
    return f


def without(state, f):
    if state.x == 1:
        state.x = 2
        f(state)
        return state
    raise ValueError(state)
