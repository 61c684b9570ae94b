import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { Crew } from '../../src/testing/node/crew.ts'
import { readLog } from '../../src/testing/node/observation.ts'
import { eventually } from '../eventually.ts'
import { grab } from '../stores/asking.ts'
import { OPEN_STORE } from './torture.ts'

it('a worker tells of a loss that came before it could listen', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-worker-'))
  const [leasesPath, guardedPath, logPath] = ['leases.db', 'guarded.db', 'log'].map((name) =>
    join(directory, name),
  ) as [string, string, string]
  const store = sqliteStore(leasesPath)
  const guarded = new DatabaseSync(guardedPath)
  const crew = new Crew({
    module: OPEN_STORE.href,
    address: `sqlite:${leasesPath}`,
    ttl: 1000,
    logPath,
    guardedPath,
  })
  onTestFinished(async () => {
    await crew.killAll()
    await store.close()
    guarded.close()
    await rm(directory, { recursive: true })
  })

  const lease = await grab(store, 'r')
  crew.hire('r')
  const worker = await crew.waiter('r')
  // It stands still in its write until its lease has run out.
  guarded.exec('BEGIN IMMEDIATE')
  await store.release(lease)
  const token = await eventually(() => {
    const held = readLog(logPath).find((observation) => observation.token !== undefined)
    return held?.token ?? expect.fail('not held yet')
  })
  await eventually(async () => expect(await store.read(['r'])).toEqual([[]]))
  expect(worker.losses).toEqual(new Set())
  // A commit would fail while the worker reads.
  guarded.exec('ROLLBACK')
  await crew.until('it tells of its loss', () => worker.losses.has(token))
})
