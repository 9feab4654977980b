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

/** Returns numbers of 2 (negative width in the pair) or 4 bytes in little-endian order. */
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

/** Returns the archive. */
export async function makeZip(entries: ZipEntry[]): Promise<Blob> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const { path, data } of entries) {
    const name = new TextEncoder().encode(path);
    const packed = await through(data, new CompressionStream("deflate-raw"));
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
  const end = fields(
    [4, 0x06054b50], [2, 0], [2, 0], [2, entries.length], [2, entries.length],
    [4, size], [4, at], [2, 0],
  );
  return new Blob([...parts, ...directory, end] as BlobPart[], { type: "application/zip" });
}
