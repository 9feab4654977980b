c[(not b and a.name and a) and a.size] = b
