def root(base, power):
    return f'sqrt({base})' if power == 0.5 else f'1 / sqrt({base})'


def power(base, exponent, log):
    return log(base, 'power', exponent) if exponent > 1 else log(exponent, 'power', exponent)


def chosen(a, b, c, call):
    return call(b if a else c)
