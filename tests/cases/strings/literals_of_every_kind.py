"""Escapes, quotes, bytes and surrogates come back exactly."""
plain = 'text'
quotes = ['it\'s', 'say "x"', 'both \' and "', '\'\'\'', '"""']
escapes = '\n\r\t\\\x00\x07\x7f\x80\xff'
letters = 'é ß 漢字 🐍 \u200b \ufeff \U0010ffff'
surrogates = '\ud800 \udfff'
data = b'\x00\xff\'"\\abc'
empty = ['', b'']
long = 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'
lines = 'first\nsecond\n'
