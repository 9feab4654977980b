"""Modules, members, aliases and stars."""
import os
import os.path
import sys as system
import xml.etree.ElementTree as tree
import xml.dom.minidom as dom, json
from collections import *
from collections import abc, OrderedDict as Ordered
from . import sibling
from .package import member
from .. import parent as above
from ...far.away import thing


def local():
    import re
    import os.path as path
    from json import dumps, loads as parse
    from . import x
    return re, path, dumps, parse, x
