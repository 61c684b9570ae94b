/** `npm run bench -- sqlite redis` runs these; without names, all. Each prints its table beside the peers. */
import { readdirSync } from 'node:fs'
import { installPeers } from './install-peers.ts'

const known = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
const wanted = process.argv.length > 2 ? process.argv.slice(2) : known

const unknown = wanted.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`unknown benchmark: ${unknown.join(', ')}; there are ${known.join(', ')}`)
  process.exit(2)
}
installPeers()
for (const [index, name] of wanted.entries()) {
  console.log(`\n${name} (${index + 1} of ${wanted.length}) …`)
  const { run } = (await import(`./${name}.bench.ts`)) as { run(): Promise<void> }
  await run()
}
