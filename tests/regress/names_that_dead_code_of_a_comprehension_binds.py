# python: 3.11 3.12 3.13
[0 for a in w if (n if v else 0) if f'' for z in y if (n := 0)]
[0 for a in w if {0: 0 for b in x for m in c} if f'' for m in z]
