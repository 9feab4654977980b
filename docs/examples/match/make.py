"""Write the compiled files of the page: one of its source, one of another."""

import py_compile
from pathlib import Path

UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH

folder = Path("package")
source = (folder / "prices.py").read_text()
(folder / "orders.py").write_text(source.replace("prices", "orders").replace("Prices", "Orders"))
py_compile.compile("package/prices.py")
(folder / "prices.py").write_text(source.replace("1 + rate", "1 + rate / 2"))
py_compile.compile("package/prices.py", invalidation_mode=UNCHECKED)
(folder / "prices.py").write_text(source)
py_compile.compile("package/orders.py")
