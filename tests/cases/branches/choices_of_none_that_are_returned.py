"""The `None` of a conditional expression is no copy of the end of the body."""
# reads otherwise: 3.8 3.9 3.10


def one_after_another(d, v):
    if d is str:
        return int(v.text) if v.text else None
    if d is float:
        return float(v.text) if v.text else None
    return d(v)


def in_a_test(d, v):
    if v:
        if d is str:
            return int(v.text) if v.text else None
        if d is float:
            return float(v.text) if v.text else None
    return d(v)


def one_at_the_end(self, f):
    if self.data:
        guess = f.guess(self.data)
        return str(guess.mime) if guess else None

    suffix = self.fmt()
    if not suffix:
        return None

    guess = f.get(suffix)
    return str(guess.mime) if guess else None


def not_written(d, v):
    if d is str:
        if v.text:
            return int(v.text)
    elif d is float:
        if v.text:
            return float(v.text)
