/** Compresses the files of the pages once, at the build, so that the server need not do it for each request. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** A smaller file fits into one packet anyway. */
const SMALLEST_BYTES = 1024

export function compressPages(directory: string): void {
  for (const name of globSync('**/*.{html,js,css,svg}', { cwd: directory })) {
    const path = join(directory, name)
    const content = readFileSync(path)
    if (content.length < SMALLEST_BYTES) continue
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
    writeFileSync(`${path}.br`, brotliCompressSync(content, quality))
    writeFileSync(`${path}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }))
  }
}
