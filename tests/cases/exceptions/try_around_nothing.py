# reads otherwise: 3.11+
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
