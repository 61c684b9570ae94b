/** Runs the whole pipeline and prints every path that it passed to the file system. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const paths = new Set<string>()
for (const api of [fs, fs.promises] as unknown as Record<string, unknown>[]) {
  for (const [name, original] of Object.entries(api)) {
    if (typeof original !== 'function' || /^[A-Z_]/.test(name)) continue
    const pathCount = /^(rename|link|symlink|copyFile|cp)/.test(name) ? 2 : 1
    api[name] = function (this: unknown, ...args: unknown[]) {
      for (const path of args.slice(0, pathCount)) if (typeof path === 'string') paths.add(path)
      return original.apply(this, args)
    }
  }
}
syncBuiltinESMExports()

const [telemetry = '', reports = ''] = process.argv.slice(2)
const { collect, report, score } = await import('../../../src/telemetry/index-node.ts')
const { acquires, linesOf, NOON } = await import('../records.ts')
paths.clear()
const now = NOON + 60_000
const input = [linesOf(acquires(0, 10, 20)), '{"type":"lock:acquired","at":0,"leaseId":"x"}\n', 'broken\n']
const results = [
  await collect({
    input: (async function* () {
      yield* input
    })(),
    directory: telemetry,
  }),
  await score({ directory: telemetry, now }),
  await report({ directory: telemetry, reports, now }),
]
process.stdout.write(
  JSON.stringify({ exitCodes: results.map(({ exitCode }) => exitCode), paths: [...paths] }),
)
