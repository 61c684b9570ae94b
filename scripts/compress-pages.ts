/**
 * Compresses the scripts and style sheets of the pages once, at the build. Only the compressed form is kept: the server
 * changes it for a client that does not know Brotli.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

export function compressPages(directory: string): void {
  for (const name of globSync('assets/*.{js,css}', { cwd: directory })) {
    const path = join(directory, name)
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
    writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), quality))
    rmSync(path)
  }
}
