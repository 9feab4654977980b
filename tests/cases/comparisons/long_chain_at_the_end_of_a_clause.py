def of_a_clause_with_a_name(a, b, c, d):
    while a:
        try:
            a()
        except OSError as e:
            if b < a < c < d:
                pass
