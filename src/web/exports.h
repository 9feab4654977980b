// SPDX-License-Identifier: Apache-2.0
// web: the WebAssembly module's interface, of C: bytes and numbers in, JSON or bytes out. web/npm
// makes the JavaScript interface of it (web/npm/pellucid.d.ts), where the JSON is described.
//
// A call takes the bytes of pellucid_input(), and leaves one result, which stays until the next
// call. It returns true if it has the result that was asked for; if not, the result is an error:
// {"code": "malformed", "offset": 4, "reason": "..."}.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Returns room for the input of the next call; null: not enough memory.
uint8_t* pellucid_input(size_t size);

const char* pellucid_result();
size_t pellucid_result_size();

// {"version": ..., "versions": [...], "stages": [...]}
bool pellucid_about();

// `minor`: the version to read the input as, 3.minor; 0: what its header says. The same below.
enum DecompileFlags : uint32_t {
  kVerify = 1,
  kKeepLines = 2,
  kUnstructured = 4,
  kNoText = 8,
  kStrict = 16
};
bool pellucid_decompile(uint32_t minor, uint32_t flags);

bool pellucid_inspect(uint32_t minor);
bool pellucid_dis(uint32_t minor);

// The code objects: their numbers, names and paths.
bool pellucid_codes(uint32_t minor);

// `stage`: its name, ends with a zero. `code`: a number; -1: all code objects.
bool pellucid_dump(uint32_t minor, const char* stage, int32_t code);

// `code`: a number; -1: the file's own code.
bool pellucid_graph(uint32_t minor, int32_t code);

// Keeps the input as an archive: {"handle": 1, "kind": "zip", "members": [...]}. Of code that is in
// no archive ("code") it keeps nothing, and the handle is 0.
bool pellucid_open();

// The result is the bytes of a member.
bool pellucid_read(uint32_t handle, uint32_t member);
void pellucid_close(uint32_t handle);

}  // extern "C"
