# reads otherwise: 3.10
def tried_again(a, count):
    while True:
        try:
            a()
        except ValueError:
            pass
        else:
            count += a
            break
        finally:
            done()
    use(count)
    return a
