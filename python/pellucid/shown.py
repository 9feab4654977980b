# SPDX-License-Identifier: Apache-2.0
"""Results that a notebook displays as HTML."""

from typing import Any, Callable


class Shown:
    """A result that a notebook displays as HTML.

    :mod:`pellucid` passes the function down: it needs the classes of all results, and none of them
    may depend on it.
    """

    _html_of: "Callable[[Any], str]"

    def _repr_html_(self) -> str:
        return type(self)._html_of(self)
