# since: 3.11
# What `except*` splits, wraps, raises again and joins, and which exception is handled meanwhile.
import sys


def shape(exception):
    if isinstance(exception, BaseExceptionGroup):
        return exception.message, [shape(each) for each in exception.exceptions]
    return repr(exception)


def history(exception):
    return shape(exception.__cause__), shape(exception.__context__)


def group(text, *exceptions):
    made = ExceptionGroup(text, exceptions)
    made.add_note("made for " + text)
    return made


def clauses(raised, in_clause):
    done = []
    try:
        try:
            if raised is not None:
                raise raised
            done.append("nothing raised")
        except* ValueError as e:
            done.append(("ValueError", shape(e), e is sys.exception(), e is raised))
            in_clause(e)
        except* (TypeError, OSError) as e:
            done.append(("TypeError", shape(sys.exception()), history(e)))
            in_clause(e)
        except* KeyError:
            done.append("KeyError")
            raise
        else:
            done.append("else")
        finally:
            done.append("finally")
    except BaseException as e:
        done.append(("out", shape(e), history(e), getattr(e, "__notes__", None)))
    return done, sys.exception()


def nothing(exception):
    pass


def again(exception):
    raise


def the_same(exception):
    raise exception


def another(exception):
    raise LookupError("in a clause")


def caused(exception):
    raise LookupError("in a clause") from exception


def a_group(exception):
    raise ExceptionGroup("of a clause", [exception])


class Odd(ExceptionGroup):
    def derive(self, exceptions):
        return Odd("derived", exceptions)


def all_of():
    yield lambda: None
    yield lambda: ValueError(1)
    yield lambda: TypeError(2)
    yield lambda: KeyError(3)
    yield lambda: ZeroDivisionError(4)
    yield lambda: group("one", ValueError(5))
    yield lambda: group("two", ValueError(6), TypeError(7))
    yield lambda: group("kept", ZeroDivisionError(8), TypeError(9))
    yield lambda: group("deep", group("in", ValueError(10), KeyError(11)), OSError(12), KeyError(13))
    yield lambda: BaseExceptionGroup("base", [KeyboardInterrupt(), ValueError(14)])
    yield lambda: Odd("odd", [ValueError(15), group("in", KeyError(16), IndexError(17))])


def in_a_loop(items):
    found = []
    for item in items:
        try:
            if item % 3 == 0:
                raise group("loop", ValueError(item), TypeError(item))
            if item % 3 == 1:
                raise ValueError(item)
        except* ValueError as e:
            found.append(shape(e))
            if item > 3:
                found.append("late")
        except* TypeError:
            try:
                raise KeyError(item)
            except* KeyError as inner:
                found.append((shape(inner), shape(inner.exceptions[0].__context__)))
    return found


def no_type(kind):
    try:
        try:
            raise group("no type", ValueError(1))
        except* kind:
            print("caught")
    except BaseException as e:
        print(type(e).__name__, history(e))


for make in all_of():
    for in_clause in nothing, again, the_same, another, caused, a_group:
        print(clauses(make(), in_clause))
print(in_a_loop(range(8)))
for kind in int, ExceptionGroup, (ValueError, 3), (TypeError, ExceptionGroup), ():
    no_type(kind)
