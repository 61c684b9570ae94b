/** Settings of the package `postgres` that the docs recommend. Without them, the driver ends or keeps a process. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { startServer } from '../../../scripts/services/index.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

const schema = `postgres_js_${process.pid}`
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  const admin = new pg.Client(url)
  await admin.connect()
  await admin.query(`drop schema if exists ${schema} cascade`)
  await admin.end()
})

function start(at: string, settings: 'default' | 'documented' | 'patient'): ChildProcess {
  const child = fork(join(import.meta.dirname, 'postgres-js-child.ts'), [at, schema, settings], {
    stdio: 'ignore',
  })
  children.push(child)
  return child
}

describe('the package postgres', () => {
  it('the package postgres does not end the process when a connection is reset, if it fetches no types', async () => {
    await using proxy = await resetWhenTypesAreFetched()
    const at = new URL(url)
    at.host = proxy.address
    const ended = once(start(at.href, 'default'), 'exit')
    const working = start(at.href, 'documented')
    expect((await once(working, 'message'))[0]).toBe('watching')
    expect((await ended)[0]).toBe(1)
  })

  it('the package postgres does not keep the process alive after close, if its backoff is short', async () => {
    await using server = disposable(await startServer('postgres'))
    const patient = start(server.address, 'patient')
    const documented = start(server.address, 'documented')
    await Promise.all([once(patient, 'message'), once(documented, 'message')])
    await server.stop()
    const ended = once(documented, 'exit')
    for (const child of [patient, documented]) child.send('end')
    expect((await ended)[0]).toBe(0)
    expect(patient.exitCode).toBe(null)
  })
})

function disposable<T extends { stop(): Promise<void> }>(server: T): T & AsyncDisposable {
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.stop() })
}

/** Stands before the server, and cuts a connection when the driver asks for the types of arrays. */
async function resetWhenTypesAreFetched() {
  const { hostname, port } = new URL(url)
  const proxy = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) })
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.on('data', (data) => {
      if (data.includes('pg_catalog.pg_type')) client.resetAndDestroy()
      else upstream.write(data)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    upstream.pipe(client)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void proxy.close(),
  }
}
