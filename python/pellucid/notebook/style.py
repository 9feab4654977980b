# SPDX-License-Identifier: Apache-2.0
"""How results look in a notebook: small, in the notebook's own colours, light and dark."""

_DARK = "--p-soft:#a0a8b4;--p-good:#62c98c;--p-warn:#dfae52;--p-bad:#ff8a80;--p-word:#c9a2f7;"
_LIGHT = "--p-soft:#595f69;--p-good:#1b7340;--p-warn:#8a5a00;--p-bad:#b3261e;--p-word:#6f2da8;"

# Text and ground are the notebook's. JupyterLab and VS Code say on the body whether they are dark;
# elsewhere the browser's setting counts.
STYLE = (
    f".pellucid{{{_LIGHT}font-size:13px;line-height:1.5}}"
    f"@media(prefers-color-scheme:dark){{.pellucid{{{_DARK}}}}}"
    f"[data-jp-theme-light=true] .pellucid,.vscode-light .pellucid{{{_LIGHT}}}"
    f"[data-jp-theme-light=false] .pellucid,.vscode-dark .pellucid{{{_DARK}}}"
    ".pellucid p{margin:4px 0}.pellucid .soft,.pellucid .c{color:var(--p-soft)}"
    ".pellucid details{border-top:1px solid rgba(128,128,128,.3);padding:3px 0}"
    ".pellucid summary{cursor:pointer}"
    ".pellucid pre{font-size:12px;line-height:1.45;margin:4px 0;padding:4px 8px;overflow-x:auto;"
    "background:rgba(128,128,128,.1);color:inherit;white-space:pre}"
    ".pellucid .mark{border:1px solid;border-radius:3px;padding:0 5px;font-size:12px}"
    ".pellucid .good,.pellucid .new,.pellucid .s{color:var(--p-good)}"
    ".pellucid .warn{color:var(--p-warn)}.pellucid .old{color:var(--p-bad)}"
    ".pellucid .k{color:var(--p-word)}"
)
