# A list that is made and never named is one of Dynamo's, but for what a comprehension makes.
del [0 for a in b][0]
[]
c
