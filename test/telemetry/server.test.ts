import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { createCollector, httpSink, receiveTelemetry } from '../../src/telemetry/index.ts'
import { fileSink, score } from '../../src/telemetry/index-node.ts'
import { serviceBed } from '../server/service-bed.ts'
import { NOON, WINDOW } from './records.ts'

it.each([
  ['all', undefined, 3],
  ['as many as it says', 2, 2],
  ['none', 0, 0],
])('the sender is told how many events of a batch were kept: %s', async (_, kept, accepted) => {
  await using bed = await serviceBed({ onTelemetry: () => kept, settings: { acceptTelemetry: true } })
  const events = [1, 2, 3].map((at) => ({ type: 'acquired', at }))
  expect(await bed.browser().call('POST', '/telemetry', { events })).toMatchObject({
    status: 202,
    body: { accepted },
  })
})

it('events of a page reach the scored files through a server', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-telemetry-'))
  const store = memoryStore()
  const files = fileSink(directory)
  const server = await createServer({
    store,
    settings: { port: 0, acceptTelemetry: true },
    log: () => {},
    onTelemetry(events) {
      const batch = receiveTelemetry({ events })
      if (batch.ok) return files.write(batch.records)
    },
  })
  try {
    const collector = createCollector({
      sinks: [httpSink(`${server.url}/telemetry`)],
      onError: (error) => expect.unreachable(String(error)),
    })
    const listen = collector.listen('project')
    for (let n = 0; n < 25; n++) {
      const event = { at: NOON, leaseId: `${n}`, operation: 'acquire', retryable: false, backend: 'web' }
      listen({ type: n < 5 ? 'lock:error' : 'lock:acquired', ...event } as { type: string })
    }
    await collector.close()
    const { exitCode, stdout } = await score({ directory, json: true, now: NOON + WINDOW })
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      rollback_required: true,
      windows: [{ acquires: 25, retryable_false: 0.2 }],
    })
  } finally {
    await server.close()
    await store.close()
    await files.close()
    rmSync(directory, { recursive: true })
  }
})
