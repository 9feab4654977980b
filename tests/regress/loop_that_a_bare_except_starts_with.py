try:
    a()
except:
    while b:
        c()
