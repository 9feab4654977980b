def validate(content):
    for letter in content:
        if not 'a' <= letter.lower() <= 'z':
            return False
    return True
