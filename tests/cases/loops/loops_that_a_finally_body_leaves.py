# reads otherwise: 3.9+
# Nothing comes round: what is left of the loop is where its `break` leads.
while a:
    try:
        b
    except:
        pass
    finally:
        c
        break
d
while a:
    try:
        b
    finally:
        c
        break
