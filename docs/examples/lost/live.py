import pellucid


def scaled(factor):
    return lambda rows: {key: [factor * x for x in value] for key, value in rows}


found = pellucid.decompile_ex(scaled(2))
print(found.source, end="")
print(found.verdict.status, found.verdict.tier)
