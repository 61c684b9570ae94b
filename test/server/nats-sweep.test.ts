import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { expect, it, vi } from 'vitest'
import { natsDocuments } from '../../src/server/index.ts'
import { eventually } from '../eventually.ts'

// The server's own clock tells how old a record is, so the time that fences are kept is made short instead.
vi.mock('../../src/server/documents.ts', async (original) => ({
  ...(await original<object>()),
  KEEP_FENCE_MS: 20,
}))

it('a sweep of NATS deletes old fences without a content and the parts of interrupted saves, and nothing else', async () => {
  const { HOLDFAST_TEST_NATS_URL: servers = '' } = process.env
  const connection = await connect({ servers })
  try {
    const bucket = `sweep_${process.pid}`
    const documents = natsDocuments(connection, { bucket })
    await documents.fence('locked', { token: 1, holder: 'a' })
    await documents.fence('saved', { token: 1, holder: 'a' })
    await documents.save('saved', { token: 1, holder: 'a' }, 'text')
    const kv = await new Kvm(connection).open(bucket)
    await kv.put('part.saved.interrupted.0', '"lost"')
    await kv.put('room.damaged', '{"fence":"?"}')
    const keys = async () => {
      const found: string[] = []
      for await (const key of await kv.keys()) found.push(key)
      return found.filter((key) => !key.endsWith('.=')).toSorted()
    }
    expect(await keys()).toContain('room.locked')
    await eventually(async () => {
      await documents.sweep?.()
      expect(await keys()).toEqual([
        expect.stringMatching(/^part\.saved\.[\da-f-]{36}\.0$/),
        'room.damaged',
        'room.saved',
      ])
    })
    expect(await documents.read('saved')).toMatchObject({ content: 'text' })
  } finally {
    await connection.close()
  }
})
