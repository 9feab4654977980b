// SPDX-License-Identifier: Apache-2.0
#include "pickle/names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pellucid::pickle {

namespace {

constexpr int kMostNameSteps = 64;  // calls of getattr() in each other

// Modules of Python 2, as pickle renames them below protocol 3, and names for the same module.
constexpr std::pair<std::string_view, std::string_view> kSameModule[] = {
    {"__builtin__", "builtins"},
    {"copy_reg", "copyreg"},
    {"commands", "subprocess"},
    {"posix", "os"},
    {"nt", "os"},
    {"posixpath", "os.path"},
    {"ntpath", "os.path"},
    {"_operator", "operator"},
    {"cPickle", "pickle"},
    {"_pickle", "pickle"},
    {"dill._dill", "dill"},
    {"_io", "io"},
    {"cloudpickle.cloudpickle_fast", "cloudpickle"},
    {"cloudpickle.cloudpickle", "cloudpickle"},
    {"_collections", "collections"},
    {"_functools", "functools"},
    {"__builtins__", "builtins"},
};

std::string canonical_module(std::string_view module) {
  for (const auto& [other, name] : kSameModule) {
    if (module == other) return std::string(name);
    // Packages carry copies of some: joblib.externals.cloudpickle.cloudpickle.
    if (other.find('.') != std::string_view::npos && module.ends_with(other) &&
        module[module.size() - other.size() - 1] == '.') {
      return std::string(name);
    }
  }
  return std::string(module);
}

std::string path_within(const Graph& graph, ValueId id, int& left);

// Returns what a call of `function` with these arguments returns, if that has a name.
std::string path_of_call(const Graph& graph, std::string_view function, ValueId arguments,
                         int& left) {
  const ValueId first = graph.item(arguments, 0);
  const ValueId second = graph.item(arguments, 1);
  if (!first.valid()) return {};
  const std::string_view last = last_part(function);
  if (function == "dill._get_attr" && graph.is(first, Kind::Str) && graph.is(second, Kind::Str)) {
    // It imports the module of this name.
    return canonical_module(graph.text(first)) + '.' + std::string(graph.text(second));
  }
  if (function == "builtins.getattr" || last == "_getattribute" || function == "dill._get_attr") {
    std::string of = path_within(graph, first, left);
    if (of.empty() || !graph.is(second, Kind::Str)) return {};
    return of + '.' + std::string(graph.text(second));
  }
  if (!graph.is(first, Kind::Str)) return {};
  const std::string text(graph.text(first));
  if (last == "__import__" || last == "import_module" || last == "subimport" ||
      last == "_import_module" || last == "dynamic_subimport") {
    return canonical_module(text);
  }
  if (last == "_builtin_type" || last == "_load_type") {
    return (text.ends_with("Type") ? "types." : "builtins.") + text;
  }
  return {};
}

std::string path_within(const Graph& graph, ValueId id, int& left) {
  if (!id.valid() || left-- <= 0) return {};
  const Kind kind = graph[id].kind;
  if (kind == Kind::Str) return "builtins.str";
  if (kind == Kind::Bytes) return "builtins.bytes";
  if (kind == Kind::Global) {
    const ValueId module = graph.item(id, 0);
    const ValueId name = graph.item(id, 1);
    if (!graph.is(module, Kind::Str) || !graph.is(name, Kind::Str)) return {};
    return canonical_module(graph.text(module)) + '.' + std::string(graph.text(name));
  }
  if (kind != Kind::Call) return {};
  const ValueId function = graph.item(id, 0);
  const ValueId arguments = graph.item(id, 1);
  if (graph[arguments].kind != Kind::Tuple) return {};
  // operator.attrgetter('system')(module)
  if (graph[function].kind == Kind::Call &&
      path_within(graph, graph.item(function, 0), left) == "operator.attrgetter") {
    const ValueId name = graph.item(graph.item(function, 1), 0);
    std::string of = path_within(graph, graph.item(arguments, 0), left);
    if (of.empty() || !graph.is(name, Kind::Str)) return {};
    return of + '.' + std::string(graph.text(name));
  }
  return path_of_call(graph, path_within(graph, function, left), arguments, left);
}

}  // namespace

std::string path_of(const Graph& graph, ValueId id) {
  int left = kMostNameSteps;
  return path_within(graph, id, left);
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

namespace {

struct Row {
  std::string_view name;  // ends with a dot: everything in that module
  std::string_view words;
};

// What runs code, or lets a pickle reach what does.
constexpr Row kRuns[] = {
    {"builtins.eval", "evaluates an expression"},
    {"builtins.exec", "runs Python source"},
    {"builtins.execfile", "runs a file"},
    {"builtins.compile", "compiles Python source"},
    {"builtins.__import__", "imports a module"},
    {"builtins.getattr", "reaches any attribute"},
    {"builtins.setattr", "changes any attribute"},
    {"builtins.delattr", "changes any attribute"},
    {"builtins.open", "opens a file"},
    {"builtins.input", "evaluates or reads input"},
    {"builtins.globals", "reaches the program's variables"},
    {"builtins.locals", "reaches the program's variables"},
    {"builtins.vars", "reaches the program's variables"},
    {"builtins.breakpoint", "starts a debugger"},
    {"builtins.map", "calls a function for each item"},
    {"builtins.filter", "calls a function for each item"},
    {"builtins.apply", "calls a function"},
    {"os.", "acts on the system"},
    {"subprocess.", "starts a process"},
    {"pty.", "starts a process"},
    {"popen2.", "starts a process"},
    {"multiprocessing.", "starts a process"},
    {"asyncio.", "starts a process or opens a connection"},
    {"concurrent.", "calls a function"},
    {"threading.", "calls a function"},
    {"_thread.", "calls a function"},
    {"sys.", "reaches the interpreter"},
    {"gc.", "reaches the interpreter's objects"},
    {"inspect.", "reaches the interpreter's objects"},
    {"importlib.", "imports a module"},
    {"imp.", "imports a module"},
    {"pkgutil.", "imports a module"},
    {"runpy.", "runs a module or a file"},
    {"zipimport.", "imports a module"},
    {"code.", "runs Python source"},
    {"codeop.", "compiles Python source"},
    {"timeit.", "runs Python source"},
    {"cProfile.", "runs Python source"},
    {"profile.", "runs Python source"},
    {"trace.", "runs Python source"},
    {"pdb.", "runs Python source"},
    {"bdb.", "runs Python source"},
    {"doctest.", "runs Python source"},
    {"unittest.", "runs Python code"},
    {"idlelib.", "runs Python source"},
    {"lib2to3.", "runs Python code"},
    {"ensurepip.", "installs packages"},
    {"pip.", "installs packages"},
    {"venv.", "starts a process"},
    {"distutils.", "starts a process"},
    {"setuptools.", "starts a process"},
    {"pydoc.", "starts a process or imports a module"},
    {"webbrowser.", "starts a process"},
    {"platform.", "starts a process"},
    {"ctypes.", "calls native code"},
    {"cffi.", "calls native code"},
    {"_ctypes.", "calls native code"},
    {"socket.", "opens a connection"},
    {"ssl.", "opens a connection"},
    {"http.", "opens a connection"},
    {"urllib.", "opens a connection"},
    {"urllib2.", "opens a connection"},
    {"requests.", "opens a connection"},
    {"aiohttp.", "opens a connection"},
    {"httplib.", "opens a connection"},
    {"ftplib.", "opens a connection"},
    {"smtplib.", "opens a connection"},
    {"telnetlib.", "opens a connection"},
    {"xmlrpc.", "opens a connection"},
    {"shutil.", "changes files"},
    {"tempfile.", "changes files"},
    {"pathlib.Path.", "changes files"},
    {"fileinput.", "opens a file"},
    {"io.", "opens a file"},
    {"linecache.", "opens a file"},
    {"glob.", "lists files"},
    {"logging.", "opens a file or a connection"},
    {"sqlite3.", "opens a file"},
    {"dbm.", "opens a file"},
    {"shelve.", "opens a file and loads pickles"},
    {"signal.", "reaches the interpreter"},
    {"atexit.", "calls a function later"},
    {"weakref.finalize", "calls a function later"},
    {"types.FunctionType", "makes a function of code"},
    {"types.LambdaType", "makes a function of code"},
    {"types.CodeType", "makes code"},
    {"marshal.", "makes code"},
    {"dis.", "compiles Python source"},
    {"new.", "makes a function of code"},
    {"functools.partial", "prepares a call"},
    {"functools.reduce", "calls a function for each item"},
    {"operator.attrgetter", "reaches any attribute"},
    {"operator.methodcaller", "calls any method"},
    {"operator.itemgetter", "reaches any item"},
    {"operator.call", "calls a function"},
    {"itertools.starmap", "calls a function for each item"},
    {"copyreg.add_extension", "changes how pickles load"},
    {"pickle.", "loads a pickle"},
    {"pickletools.", "reads a pickle"},
    {"dill.", "makes code, functions or classes"},
    {"cloudpickle.", "makes code, functions or classes"},
    {"joblib.load", "loads a pickle"},
    {"joblib.numpy_pickle.load", "loads a pickle"},
    {"pandas.read_pickle", "loads a pickle"},
    {"pandas.eval", "evaluates an expression"},
    {"numpy.load", "loads a pickle"},
    {"numpy.testing.", "runs Python source"},
    {"numpy.f2py.", "starts a process"},
    {"numpy.distutils.", "starts a process"},
    {"torch.load", "loads a pickle"},
    {"torch.serialization.", "loads a pickle"},
    {"torch.hub.", "downloads and runs code"},
    {"torch.jit.", "loads and compiles code"},
    {"torch.utils.cpp_extension.", "compiles native code"},
    {"torch.utils.bottleneck.", "runs a file"},
    {"torch._inductor.", "compiles and runs code"},
    {"torch._dynamo.", "compiles and runs code"},
    {"torch.fx.", "compiles Python source"},
    {"torch.distributed.", "opens a connection"},
};

// The functions of cloudpickle, dill and their copies in other packages, whose modules vary.
constexpr std::string_view kMakers[] = {
    "_make_function",     "_make_skel_func",     "_fill_function",
    "_function_setstate", "_builtin_type",       "_make_skeleton_class",
    "_class_setstate",    "_make_skeleton_enum", "_rehydrate_skeleton_class",
    "_create_code",       "_create_function",    "_create_type",
};

// What makes values only. (A class that a module of the program defines is Unknown.)
constexpr std::string_view kBuilds[] = {
    "builtins.set",
    "builtins.frozenset",
    "builtins.bytearray",
    "builtins.bytes",
    "builtins.int",
    "builtins.float",
    "builtins.complex",
    "builtins.bool",
    "builtins.str",
    "builtins.list",
    "builtins.tuple",
    "builtins.dict",
    "builtins.object",
    "builtins.slice",
    "builtins.range",
    "builtins.type",
    "builtins.Ellipsis",
    "builtins.NotImplemented",
    "builtins.len",
    "builtins.chr",
    "builtins.ord",
    "builtins.print",
    "builtins.repr",
    "builtins.reversed",
    "builtins.iter",
    "builtins.enumerate",
    "builtins.zip",
    "builtins.sorted",
    "builtins.long",
    "io.BytesIO",
    "io.StringIO",
    "logging.getLogger",
    "inspect.Signature",
    "inspect.Parameter",
    "inspect._ParameterKind",
    "builtins.unicode",
    "builtins.xrange",
    "builtins.memoryview",
    "codecs.encode",
    "codecs.decode",
    "_codecs.encode",
    "_codecs.decode",
    "base64.",
    "binascii.",
    "zlib.",
    "gzip.decompress",
    "bz2.decompress",
    "lzma.decompress",
    "copyreg._reconstructor",
    "copyreg.__newobj__",
    "copyreg.__newobj_ex__",
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.deque",
    "collections.Counter",
    "collections.ChainMap",
    "datetime.",
    "decimal.Decimal",
    "fractions.Fraction",
    "uuid.UUID",
    "array.array",
    "array._array_reconstructor",
    "pathlib.PosixPath",
    "pathlib.PurePosixPath",
    "pathlib.WindowsPath",
    "pathlib.PureWindowsPath",
    "pathlib.Path",
    "pathlib._local.PosixPath",
    "types.SimpleNamespace",
    "operator.add",
    "operator.concat",
    "numpy.dtype",
    "numpy.ndarray",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy._core.numeric._frombuffer",
    "joblib.numpy_pickle.NumpyArrayWrapper",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_meta_tensor_no_storage",
    "torch.Size",
    "torch.device",
    "torch.FloatStorage",
    "torch.DoubleStorage",
    "torch.HalfStorage",
    "torch.BFloat16Storage",
    "torch.LongStorage",
    "torch.IntStorage",
    "torch.ShortStorage",
    "torch.CharStorage",
    "torch.ByteStorage",
    "torch.BoolStorage",
    "torch.storage.UntypedStorage",
};

template <typename Name>
bool matches(std::string_view path, Name name) {
  return name.ends_with('.') ? path.starts_with(name) : path == name;
}

const Row* row_of(std::string_view path) {
  const auto found = std::find_if(std::begin(kRuns), std::end(kRuns),
                                  [&](const Row& row) { return matches(path, row.name); });
  return found == std::end(kRuns) ? nullptr : found;
}

}  // namespace

Meaning meaning_of(std::string_view path) {
  // A module leads to the modules that it imports: shutil.os.system, collections._sys.modules.
  constexpr std::string_view kReached[] = {"os.",        "sys.",    "subprocess.", "builtins.",
                                           "importlib.", "ctypes.", "pty.",        "runpy.",
                                           "marshal.",   "shutil."};
  // These attributes lead to code and to all that a module can reach.
  constexpr std::string_view kInside[] = {
      "__dict__", "__globals__", "__builtins__", "__class__", "__code__",        "__subclasses__",
      "__mro__",  "__bases__",   "__self__",     "__func__",  "__getattribute__"};
  for (size_t at = path.find('.'); at != std::string_view::npos; at = path.find('.', at + 1)) {
    std::string_view rest = path.substr(at + 1);
    const std::string_view part = rest.substr(0, rest.find('.'));
    const bool is_inside =
        std::find(std::begin(kInside), std::end(kInside), part) != std::end(kInside);
    if (is_inside || (rest.starts_with("__") && part.size() < rest.size())) {
      return {Danger::Runs, "reaches the inside of an object"};
    }
    while (rest.starts_with('_')) rest.remove_prefix(1);
    const bool is_reached = std::any_of(std::begin(kReached), std::end(kReached),
                                        [&](auto name) { return rest.starts_with(name); });
    if (!is_reached) continue;
    const Row* const row = row_of(rest);
    return {Danger::Runs, row == nullptr ? "reaches a module" : row->words};
  }
  const bool builds = std::any_of(std::begin(kBuilds), std::end(kBuilds),
                                  [&](std::string_view name) { return matches(path, name); });
  if (builds) return {Danger::None, "makes a value"};
  if (const Row* const row = row_of(path)) return {Danger::Runs, row->words};
  const auto* const end = std::end(kMakers);
  if (std::find(std::begin(kMakers), end, last_part(path)) != end) {
    return {Danger::Runs, "makes code, functions or classes"};
  }
  return {};
}

}  // namespace pellucid::pickle
