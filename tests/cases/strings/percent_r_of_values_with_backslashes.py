def parts(name, text):
    return 'get(%r, %r)' % (name, text.split('\\', text['#']))


def quoted(text):
    return '<%a>' % (text.strip('\'"\t'),)
