# reads otherwise: 3.8 3.9 3.10
"""Assertions in an `if` stand there, and with an `else` before or after it."""

CHECKED = False


def asserts_in_an_elif(clause, names):
    if clause.is_text:
        return None
    elif CHECKED:
        assert clause.is_column
    if not names:
        return clause.key
    return names[clause]


def asserts_false(records):
    for record in records:
        if record.is_valid:
            assert False
        assert not record.is_open
    if len(records) != 3:
        assert False, "%s records" % len(records)
    assert not records


def asserts_false_in_every_arm(found, rule):
    print(found)
    if found:
        assert False, "more: %s" % found
    elif not rule.is_used:
        rule.use()


def asserts_on_several_lines(alias, given):
    if alias is None:
        if given.is_polymorphic:
            print(given)
            assert (
                not given.mappers
                and given.discriminator is None
                and not given.is_outer
            )
    return alias


def asserts_false_at_the_end_of_a_loop(records):
    for record in records:
        if record.is_valid:
            assert False


def asserts_false_at_the_end(kind):
    if kind == 1:
        return "one"
    print(kind)
    assert False, f"unexpected: {kind}"
