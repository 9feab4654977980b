# reads otherwise: 3.10
# fmt: off
def fixes(segments, operator):
    for segment in segments:
        if operator:
            continue
        if segment:
            found = (
                segment
                + (
                    [
                        fix(
                            segment,
                        )
                    ]
                    if operator
                    and segment.raw
                    else []
                )
            )
    return found
