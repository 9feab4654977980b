"""What the clean-up of a name leads to tells `else` from what follows the statement on 3.8."""
# reads otherwise: 3.9+


def clause_continues(commands, run, system):
    for command in commands:
        try:
            info = run(command)
        except (OSError, ValueError) as why:
            continue
        else:
            break
    else:
        return system
    return info


def body_raises(check, exception, wanted):
    try:
        check()
    except exception as exc:
        if str(exc) == wanted:
            print('yes')
        else:
            print('no')
            print('Unexpected ', exc)
    except:
        print('other')
        raise
    else:
        raise ValueError(wanted)
