# reads otherwise: 3.11 3.12 3.13 3.14
try:
    pass
except:
    pass
a
try:
    pass
except A:
    b
c
try:
    pass
finally:
    d
