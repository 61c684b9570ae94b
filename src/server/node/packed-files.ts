import { globSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress, gzip } from 'node:zlib'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

export type Bytes = Uint8Array<ArrayBuffer>

/** A file that a directory has only in its compressed form, `x.js.br`. */
export interface PackedFile {
  readonly type: string
  readonly path: string
  /** By the names of HTTP. Browsers know `br` only over HTTPS. */
  readonly encodings: Readonly<Record<'br' | 'gzip' | 'identity', () => Promise<Bytes>>>
}

/** By their paths in addresses, such as `/assets/x.js`. */
export function packedFiles(directory: string): ReadonlyMap<string, PackedFile> {
  const all = new Set(globSync('**/*', { cwd: directory }))
  const found = new Map<string, PackedFile>()
  for (const packed of all) {
    const name = packed.replace(/\.br$/, '')
    const type = TYPES[extname(name)]
    if (all.has(name) || !type) continue
    const path = join(directory, packed)
    const br = async () => new Uint8Array(readFileSync(path))
    const identity = once(async () => new Uint8Array(await promisify(brotliDecompress)(await br())))
    const zipped = once(async () => new Uint8Array(await promisify<Bytes, Buffer>(gzip)(await identity())))
    found.set(`/${name.replaceAll('\\', '/')}`, { type, path, encodings: { br, gzip: zipped, identity } })
  }
  return found
}

function once(read: () => Promise<Bytes>): () => Promise<Bytes> {
  let bytes: Promise<Bytes> | undefined
  return () => {
    bytes ??= read()
    return bytes
  }
}
