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
