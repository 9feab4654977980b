# since: 3.10
def m(x):
    match x:
        case [1, *rest]: return ('seq', rest)
        case {'a': 1, **kw}: return ('map', kw)
        case str() | bytes(): return 's'
        case complex(real=r, imag=i) if r: return (r, i)
        case None: return 'none'
    return 'other'
print([m(x) for x in ([1,2,3],{'a':1,'b':2},'s',3+4j,None,0j,{1:2})])
