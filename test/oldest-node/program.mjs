// Everything that a program does without a database server, on the Node that runs it. Prints what it has done.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { createLeases } from 'holdfast'
import { fileStore } from 'holdfast/file'
import { guardTable, sqliteGuard } from 'holdfast/guard'
import { createOnce, sqliteJobs } from 'holdfast/once'
import { createServer, sqliteParts } from 'holdfast/server/node'
import { sqliteStore } from 'holdfast/sqlite'

for (const store of [sqliteStore('./leases.db'), fileStore('./locks')]) {
  const one = createLeases(store)
  const two = createLeases(store)
  const first = await one.acquire('a')
  const second = two.acquire('a')
  assert.equal(await two.tryAcquire('a'), null)
  await first.renew()
  await first.release()
  assert.ok((await second).token > first.token)
  await (await second).release()
  const readers = [await one.acquire('b', { mode: 'shared' }), await two.acquire('b', { mode: 'shared' })]
  assert.equal((await one.holders('b')).length, 2)
  for (const reader of readers) await reader.release()
  await one.withLease(['c', 'd'], async () => {
    assert.deepEqual(
      (await two.list()).leases.map(({ resource }) => resource),
      ['c', 'd'],
    )
  })
  await store.sweep({ limit: 10 })
  await one.close()
  await two.close()
  await store.close()
  console.log(store.kind)
}

const database = new DatabaseSync('./app.db')
const jobs = sqliteJobs(database)
const once = createOnce(jobs)
const run = () => once.run('job', () => ({ pages: 12 }), { add: true })
assert.deepEqual(await run(), { ran: true, result: { pages: 12 } })
assert.equal((await run()).reason, 'already_finished')
assert.equal((await once.result('sum', () => 3, { payload: [1, 2] })).result, 3)
await jobs.sweep(10)
await once.close()
console.log('once')

database.exec(guardTable())
const locks = createLeases(sqliteStore('./leases.db'))
await locks.withLease('report', (lease) => sqliteGuard(database).write(lease, () => {}))
await locks.close()
console.log('guard')

const server = await createServer({ ...sqliteParts('./server.db'), settings: { port: 0 }, log() {} })
const room = `${server.url}/api/documents/minutes`
const granted = await fetch(`${room}/lock`, { method: 'POST' })
const headers = {
  cookie: granted.headers.get('set-cookie').split(';')[0],
  'content-type': 'application/json',
}
const { token } = await granted.json()
const saved = await fetch(room, { method: 'PUT', headers, body: JSON.stringify({ content: 'text', token }) })
assert.equal(saved.status, 200)
assert.equal((await (await fetch(room, { headers })).json()).content, 'text')
await server.close()
console.log('server')
