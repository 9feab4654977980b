import sys
def f(a, b=3):
    r = []
    for i in range(a):
        if i % 2: continue
        try:
            r.append(10 // (i - b))
        except ZeroDivisionError as e:
            r.append(str(e))
        finally:
            r.append('f')
    else:
        r.append('else')
    return r
def g(x):
    try:
        with open(x) as h:
            return h.read()
    except OSError:
        return sys.exc_info()[0]
def h(n):
    return [i*j for i in range(n) for j in range(i) if i != j and j]
print(f(5)); print(g("/nonexistent")); print(h(5))
print(sorted(map(lambda z: z if z > 2 else -z, range(5))))
class C:
    x = 3
    if x > 2:
        y = 4
    else:
        y = 5
    def m(self): return __class__ if self.x else super().x
print(sorted(k for k in vars(C) if not k.startswith('__')), C().m().__name__)
