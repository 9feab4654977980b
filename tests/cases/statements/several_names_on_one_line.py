"""`del a, b` and `import a, b` compile to one statement for each name."""
import os, sys
import re


def names(a, b, c):
    del a, b
    del c
    return os, sys, re
