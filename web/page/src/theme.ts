// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system has it, until the reader chooses.

const KEY = "pellucid-theme";

/** Takes up what was chosen before. Returns what changes it. */
export function startTheme(): () => void {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch {
    // A page from a file may have no store: the choice then ends with the page.
  }
  return () => {
    const now = root.dataset.theme ?? (system.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, root.dataset.theme);
    } catch {
      // As above.
    }
  };
}
