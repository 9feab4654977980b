// SPDX-License-Identifier: Apache-2.0
// Writes a zip archive: names in UTF-8, contents deflated by the browser where that makes them smaller.

export interface ZipEntry {
  path: string;
  data: Uint8Array;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

export function crc32(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (let i = 0; i < data.length; i++) crc = TABLE[(crc ^ data[i]) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Runs bytes through a stream of the browser's, and gives up beyond `limit` bytes. */
export async function through(
  data: Uint8Array,
  stream: CompressionStream | DecompressionStream,
  limit = Infinity,
): Promise<Uint8Array> {
  const reader = new Blob([data as BlobPart]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new Error(`more than ${limit} bytes`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns numbers of 2 or 4 bytes in little-endian order. */
function fields(...pairs: [width: 2 | 4, value: number][]): Uint8Array {
  const view = new DataView(new ArrayBuffer(pairs.reduce((sum, [width]) => sum + width, 0)));
  let at = 0;
  for (const [width, value] of pairs) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  return new Uint8Array(view.buffer);
}

/** 1 January 1980: the archive depends on its contents alone. */
const DATE = 0x21;
const UTF8 = 0x800;
/** The largest numbers of 2 and 4 bytes: they stand for what is in the end of a zip64 archive. */
const MAX_2 = 0xffff;
const MAX_4 = 0xffffffff;

/**
 * Returns the archive; that of more than 65,534 entries ends as zip64 has it. Throws where a name or
 * the whole is too large.
 */
export async function makeZip(entries: ZipEntry[]): Promise<Blob> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const { path, data } of entries) {
    const name = new TextEncoder().encode(path);
    if (name.length > MAX_2) throw new Error(`the name “${path.slice(0, 80)}…” is too long`);
    const packed = data.length ? await through(data, new CompressionStream("deflate-raw")) : data;
    const deflated = packed.length < data.length;
    const body = deflated ? packed : data;
    const common: [2 | 4, number][] = [
      [2, 20], [2, UTF8], [2, deflated ? 8 : 0], [2, 0], [2, DATE],
      [4, crc32(data)], [4, body.length], [4, data.length], [2, name.length], [2, 0],
    ];
    const local = fields([4, 0x04034b50], ...common);
    directory.push(
      fields([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]),
      name,
    );
    parts.push(local, name, body);
    at += local.length + name.length + body.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  if (at + size >= MAX_4) throw new Error("it would have more than 4 GB");
  const n = entries.length;
  if (n >= MAX_2) {
    directory.push(
      fields([4, 0x06064b50], [4, 44], [4, 0], [2, 45], [2, 45], [4, 0], [4, 0],
        [4, n], [4, 0], [4, n], [4, 0], [4, size], [4, 0], [4, at], [4, 0]),
      fields([4, 0x07064b50], [4, 0], [4, at + size], [4, 0], [4, 1]),
    );
  }
  const shownAs = Math.min(n, MAX_2);
  const end = fields(
    [4, 0x06054b50], [2, 0], [2, 0], [2, shownAs], [2, shownAs], [4, size], [4, at], [2, 0],
  );
  return new Blob([...parts, ...directory, end] as BlobPart[], { type: "application/zip" });
}
