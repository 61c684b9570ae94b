/**
 * `npm run bench -- sqlite redis` runs these; without names, all. Each prints its table beside the peers. `growth`,
 * `burst` and `pause` take flags: `--stores redis,http` chooses the stores, and `--most 1000` limits the waiters, the
 * held leases and the requests at once. For `pause`, `--pause 20` is in seconds, and `--stops client` stops the process
 * of the manager. `--json` prints one line of JSON for each table. `--docs` keeps the tables in `bench/results.json` and
 * writes the pages of the docs that show them; without names it runs the benchmarks of these pages.
 */
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { keepResult } from './docs/results.ts'
import { OF_PAGES, writePages } from './docs/write-pages.ts'
import { installPeers } from './install-peers.ts'
import { printJson, takeTables } from './measure.ts'

export interface BenchFlags {
  readonly stores?: string
  readonly most?: string
  readonly pause?: string
  readonly stops?: string
}

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    stores: { type: 'string' },
    most: { type: 'string' },
    pause: { type: 'string' },
    stops: { type: 'string' },
    json: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
  },
})
const known = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
const wanted = names.length > 0 ? names : flags.docs ? OF_PAGES : known

const unknown = wanted.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`unknown benchmark: ${unknown.join(', ')}; there are ${known.join(', ')}`)
  process.exit(2)
}
if (flags.json) printJson()
installPeers()
for (const [index, name] of wanted.entries()) {
  if (!flags.json) console.log(`\n${name} (${index + 1} of ${wanted.length}) …`)
  const { run } = (await import(`./${name}.bench.ts`)) as { run(flags: BenchFlags): Promise<void> }
  await run(flags)
  if (flags.docs) keepResult(name, takeTables())
}
if (flags.docs) writePages()
