/** Several processes add to a number in a file. The lock is in a SQLite database, so none of the additions is lost. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLockManager } from '../../src/locks/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { type Counter, increase, look } from './counter.ts'

const PROCESSES = 3
const ADDITIONS = 20

const [folder = await mkdtemp(join(tmpdir(), 'holdfast-locks-')), name] = process.argv.slice(2)
const file = join(folder, 'counter.txt')
const counter: Counter = {
  read: async () => Number(await readFile(file, 'utf8')),
  write: (value) => writeFile(file, String(value)),
}
const store = sqliteStore(join(folder, 'locks.db'))
const locks = createLockManager(store)

if (name) {
  for (let n = 0; n < ADDITIONS; n++) console.log(`${name}: ${await increase(locks, counter)}`)
} else {
  await counter.write(0)
  const children = Array.from({ length: PROCESSES }, (_, n) =>
    fork(import.meta.filename, [folder, `process ${n + 1}`]),
  )
  await Promise.all(children.map((child) => once(child, 'exit')))
  console.log(`${PROCESSES * ADDITIONS} additions: ${await look(locks, counter)}`)
}

await locks.close()
await store.close()
if (!name) await rm(folder, { recursive: true })
