"""What an `except` clause can name."""
# reads otherwise: 3.10 3.11 3.12 3.13 3.14


def clauses(f, g, kinds):
    try:
        f()
    except ValueError:
        g(1)
    except (TypeError, KeyError) as error:
        g(error)
    except kinds.other:
        g(2)
    except kinds.several as e:
        raise
    except:
        g(3)


def ignored(f):
    try:
        f()
    except ValueError:
        pass
