def unpack(rows, context):
    for _, first_of_the_columns, second_of_the_columns, third_of_the_columns, _, _ in rows.of(context, first=1):
        print(first_of_the_columns)
    with context as (first_of_the_columns, second_of_the_columns, third_of_the_columns, _, _, rows):
        print(second_of_the_columns)
