def f(content, x):
    for letter in content:
        if not 'a' <= letter.lower() <= 'z':
            return False
    return f(x) if content else g(x)
