import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { Etcd3 } from 'etcd3'
import { describe, expect, it } from 'vitest'
import { etcdKeyValues } from '../../src/server/etcd.ts'
import { keyValueDocuments } from '../../src/server/key-value-documents.ts'
import type { KeyValues } from '../../src/server/key-values.ts'
import { natsKeyValues } from '../../src/server/nats.ts'
import { KEEP_FENCE_MS } from '../../src/server/options.ts'
import { FakeClock } from '../../src/testing/index.ts'

interface Backend extends AsyncDisposable {
  readonly values: KeyValues
  keys(): Promise<string[]>
}

const { HOLDFAST_TEST_NATS_URL: servers = '', HOLDFAST_TEST_ETCD_URL = '' } = process.env
const GRANT = { token: 1, holder: 'a' }
const place = `sweep_${process.pid}`

const BACKENDS: Record<string, () => Promise<Backend>> = {
  async NATS() {
    const connection = await connect({ servers })
    const values = natsKeyValues(connection, { bucket: place })
    return {
      values,
      async keys() {
        const keys: string[] = []
        for await (const key of await (await new Kvm(connection).open(place)).keys()) keys.push(key)
        return keys.filter((key) => !key.endsWith('.='))
      },
      [Symbol.asyncDispose]: () => connection.close(),
    }
  },
  async etcd() {
    const client = new Etcd3({ hosts: HOLDFAST_TEST_ETCD_URL.replace('etcd:', 'http:') })
    return {
      values: etcdKeyValues(client, { prefix: place }),
      keys: () => client.namespace(place).getAll().keys(),
      [Symbol.asyncDispose]: async () => client.close(),
    }
  },
}

describe.each(Object.entries(BACKENDS))('contents in %s', (_, open) => {
  it('are swept: what two sweeps found unused is deleted, and nothing else', async () => {
    await using backend = await open()
    const { values } = backend
    const clock = new FakeClock()
    const documents = keyValueDocuments(values, clock)
    const sweep = async (ms: number) => {
      await clock.advance(ms)
      await documents.sweep?.()
      return (await backend.keys()).toSorted()
    }
    await documents.fence('saved', GRANT)
    await documents.save('saved', GRANT, 'text')
    const [part, room] = (await backend.keys()).toSorted()
    await values.put('room.damaged', '{"fence":"?"}')
    await values.put('part.damaged.unknown.0', '"text"')
    // Somebody has locked this one since.
    await values.put('room.relocked', '{"fence":"?"}')
    await values.put('part.relocked.unknown.0', '"text"')
    await documents.fence('relocked', GRANT)
    const kept = [
      part,
      'part.damaged.unknown.0',
      'part.relocked.unknown.0',
      'room.damaged',
      'room.relocked',
      room,
    ].toSorted()
    await Promise.all(
      Array.from({ length: 600 }, (_, n) => values.put(`part.saved.interrupted.${n}`, '"lost"')),
    )
    await documents.fence('locked', GRANT)
    expect(await sweep(0)).toHaveLength(607)
    await documents.fence('locked later', GRANT)
    expect(await sweep(KEEP_FENCE_MS - 1)).toHaveLength(608)
    expect(await sweep(1)).toEqual([...kept, 'room.locked=20later'].toSorted())
    // Its fence was raised since the last sweep.
    await documents.fence('locked later', { token: 2, holder: 'b' })
    expect(await sweep(KEEP_FENCE_MS)).toContain('room.locked=20later')
    expect(await sweep(KEEP_FENCE_MS)).toEqual(kept)
    expect(await documents.read('saved')).toMatchObject({ content: 'text' })
    expect((await values.get('room.relocked'))?.text).toContain('?')
    await documents.save('relocked', GRANT, 'new text')
    await sweep(KEEP_FENCE_MS)
    expect(await sweep(KEEP_FENCE_MS)).not.toContain('part.relocked.unknown.0')
    expect(await documents.read('relocked')).toMatchObject({ content: 'new text' })
  })

  it('are not saved if the process stood still for so long that a sweep may have deleted their parts', async () => {
    await using backend = await open()
    const clock = new FakeClock()
    const slow: KeyValues = {
      ...backend.values,
      async put(key, text) {
        const revision = await backend.values.put(key, text)
        clock.jump(KEEP_FENCE_MS)
        return revision
      },
    }
    const documents = keyValueDocuments(slow, clock)
    await documents.fence('slow', GRANT)
    await expect(documents.save('slow', GRANT, 'text')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('the save took too long'),
    })
    expect(await documents.read('slow')).toBeNull()
  })
})
