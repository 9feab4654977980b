a < b < (u := 0)
a < (u := f()) < c < d
if a < (u := 0) < c:
    pass
