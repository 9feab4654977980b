def root(base, power):
    return f'sqrt({base})' if power == 0.5 else f'1 / sqrt({base})'


def power(base, exponent, log):
    return log(base, 'power', exponent) if exponent > 1 else log(exponent, 'power', exponent)


def chosen(a, b, c, call):
    return call(b if a else c)


def many(make, a, b, options):
    made = make(
        a,
        k0=b,
        k1=b,
        k2=b,
        k3=b,
        k4=b,
        k5=b,
        k6=b,
        k7=b,
        k8=b,
        k9=b,
        k10=b,
        k11=b,
        k12=b,
        k13=b,
        k14=a or b.c,
        k15=b,
        k16=a and b.d,
        k17=1,
        **options,
    )
    return made
