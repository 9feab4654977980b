// CPython 3.14 for the tests: `node py314.mjs PYODIDE_DIR SCRIPT.py ARGS...` runs a script in the
// WebAssembly build of CPython that the npm package pyodide holds. The folders of the host are
// visible under their own paths; what the script prints goes to stdout line by line, and it may
// read stdin.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [directory, ...argv] = process.argv.slice(2);
if (argv.length === 0) {
  console.error("usage: node py314.mjs PYODIDE_DIR SCRIPT.py ARGS...");
  process.exit(2);
}
const home = path.resolve(directory);
const { loadPyodide } = await import(pathToFileURL(path.join(home, "pyodide.mjs")));
const py = await loadPyodide({ indexURL: home + "/" });

// Folders that the WebAssembly system has itself stay its own.
const reserved = new Set(["dev", "proc", "sys", "lib", "lib64", "bin", "sbin", "usr", "etc", "boot"]);
for (const name of fs.readdirSync("/")) {
  const folder = "/" + name;
  if (reserved.has(name) || !fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) continue;
  try {
    if (!py.FS.analyzePath(folder).exists) py.FS.mkdir(folder);
    py.FS.mount(py.FS.filesystems.NODEFS, { root: folder }, folder);
  } catch {
    // A folder that this user may not read.
  }
}
// A pipe takes as much as it has room for.
function write(file, text) {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(file, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
py.setStdout({ batched: (line) => write(1, line + "\n") });
py.setStderr({ batched: (line) => write(2, line + "\n") });
py.globals.set("ARGV", py.toPy(argv));
py.globals.set("CWD", process.cwd());
const status = py.runPython(`
import os, runpy, sys, traceback
os.chdir(CWD)
sys.argv = list(ARGV)
def run():
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as stop:
        return stop.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
run()
`);
process.exit(status);
