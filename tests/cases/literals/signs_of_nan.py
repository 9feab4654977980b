def nans():
    return [1e309 - 1e309, -(1e309 - 1e309)]
