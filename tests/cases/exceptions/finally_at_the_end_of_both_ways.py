# reads otherwise: 3.10 3.11 3.12 3.13 3.14
def swap(holder, name, value):
    if hasattr(holder, name):
        old = getattr(holder, name)
        try:
            yield old
        finally:
            setattr(holder, name, old)
    else:
        try:
            yield value
        finally:
            if hasattr(holder, name):
                delattr(holder, name)
