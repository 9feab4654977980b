global a
b = a
