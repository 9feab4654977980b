a < b < (v and w) < c
x = a < b < (v and w) < (p if q else r) < c
x = a < b < (c < d < e) < f
x = (a < b < c) < d < e
x = a < b < [i for i in y] < c
