# reads otherwise: 3.10 3.11 3.12 3.13 3.14
def show(names, hits):
    try:
        for name in names:
            use(name)
        print(f"Hits found: {hits}" if hits else "No hits.")
    except AttributeError:
        pass


def shown(hits):
    try:
        print(hits if hits else "None")
    except AttributeError:
        print("gone")
