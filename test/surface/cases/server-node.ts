import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as opentelemetry from '@opentelemetry/api'
import { systemClock } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { createLockServer, memoryAudit, memoryBus, memoryDocuments } from 'holdfast/server'
import {
  attachSockets,
  createServer,
  loadSettings,
  nodeListener,
  prometheusMeter,
  settingFlags,
} from 'holdfast/server/node'
import { callChannels } from './server.ts'

/** The server on a port, and the service inside of a server of the user. */
export async function nodeServerCase(): Promise<void> {
  await servesOnPort()
  await servesInsideAnother()
  assert.equal(loadSettings({ flags: { port: '1' }, environment: {} }).port, 1)
  assert.equal(typeof loadSettings().port, 'number')
  assert('port' in settingFlags())
  await meters()
}

async function servesOnPort(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-surface-'))
  writeFileSync(join(directory, 'index.html'), 'a page')
  const file = join(directory, 'holdfast.toml')
  writeFileSync(file, 'port = 2\n')
  assert.equal(loadSettings({ file }).port, 2)
  await using store = memoryStore()
  await using bus = memoryBus()
  await using server = await createServer({
    ...{
      store,
      bus,
      documents: memoryDocuments(),
      audit: memoryAudit(),
      settings: { port: 0, channelKey: 'surface' },
    },
    secrets: { keep: async (_, secret) => secret },
    identify: () => ({ id: 'ada', name: 'Ada', role: 'admin' }),
    clientOf: () => 'client',
    authorize: () => true,
    onTelemetry: (events) => events.length,
    roomTerms: () => ({ ttl: '1m', heartbeat: '10s' }),
    ...{ meter: prometheusMeter(), tracing: opentelemetry, log: () => {}, clock: systemClock },
    ...{ listensOn: '127.0.0.1', assets: directory },
  })
  const page = await fetch(`${server.url}/`)
  assert.equal(await page.text(), 'a page')
  const lock = await fetch(`${server.url}/api/documents/minutes/lock`, { method: 'POST' })
  assert.equal(lock.status, 200)
  const { locks } = server
  assert.equal((await locks.fetch(new Request('http://localhost/healthz'))).status, 200)
  await callChannels(locks.channels)
  await locks.channels[Symbol.asyncDispose]()
  locks.drain()
  await server.close()
  await locks.close()
  await locks[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
}

async function servesInsideAnother(): Promise<void> {
  await using store = memoryStore()
  for (const options of [undefined, { path: '/locks' }]) {
    await using locks = await createLockServer({ store })
    const serveLocks = options ? nodeListener(locks, options) : nodeListener(locks)
    const server = createHttpServer((request, response) => {
      if (options) serveLocks(request, response, () => response.writeHead(404).end())
      else serveLocks(request, response)
    })
    await using sockets = options
      ? attachSockets(server, locks.channels, {
          ...{ path: '/app', origins: ['https://app.example.com'], maxPayload: 1000, maxBuffered: 10_000 },
          clientOf: () => 'client',
        })
      : attachSockets(server, locks.channels)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}${options?.path ?? ''}/healthz`)
    assert.equal(response.status, 200)
    await sockets.close()
    server.close()
    server.closeAllConnections()
  }
}

async function meters(): Promise<void> {
  const meter = prometheusMeter()
  meter.request('/healthz', 'GET', 200, 0.1, false)
  meter.lease('granted')
  meter.call('store', 'acquire', 0.1)
  meter.call('store', 'acquire', 0.1, 'closed')
  meter.observe(() => ({ locks: 1, waiters: 0, sockets: 0, store: { inFlight: 0, queued: 0, callTime: 1 } }))
  assert.match((await meter.text()).body, /holdfast/)
}
