try:
    a
except b:
    pass
finally:
    pass
try:
    c
finally:
    pass
