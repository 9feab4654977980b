"""With a cause, without, and again."""
# reads otherwise: 3.10 3.11 3.12 3.13 3.14


def raises(x, f):
    if x == 1:
        raise ValueError
    if x == 2:
        raise ValueError(x)
    try:
        f()
    except KeyError as error:
        raise TypeError('no') from error
    except OSError:
        raise RuntimeError from None
    except Exception:
        raise
