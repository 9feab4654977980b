// CPython 3.14 for the tests: `node py314.mjs PYODIDE_DIR [OPTIONS] SCRIPT.py ARGS...` (or `-c CODE`
// for the script) runs in the WebAssembly build of CPython that the npm package pyodide holds. The
// folders of the host are visible under their own paths; stdin, stdout and stderr are the host's.
// Of the options, those that only isolate change nothing: there is nothing to isolate from.
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
function writer(file) {
  return {
    write(bytes) {
      for (let rest = bytes; rest.length > 0; ) {
        try {
          rest = rest.subarray(fs.writeSync(file, rest));
        } catch (error) {
          if (error.code !== "EAGAIN") throw error;
        }
      }
      return bytes.length;
    },
  };
}
py.setStdout(writer(1));
py.setStderr(writer(2));
py.globals.set("ARGV", py.toPy(argv));
py.globals.set("CWD", process.cwd());
const status = py.runPython(`
import os, runpy, sys, traceback, warnings
os.chdir(CWD)
def run(argv):
    while argv[0].startswith("-") and argv[0] != "-c":
        if argv.pop(0) == "-W":
            warnings.simplefilter(argv.pop(0))
    try:
        if argv[0] == "-c":
            sys.argv = ["-c", *argv[2:]]
            exec(compile(argv[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = argv
            runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as stop:
        return stop.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0
run(list(ARGV))
`);
process.exit(status);
