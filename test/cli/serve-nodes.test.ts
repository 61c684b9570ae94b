import { describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { browserAt, joinRoom } from '../server/node-client.ts'
import { ADMIN_TOKEN } from '../server/service-bed.ts'
import { startServe } from './server.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis = '',
  HOLDFAST_TEST_POSTGRES_URL: postgres = '',
  HOLDFAST_TEST_MYSQL_URL: mysql = '',
  HOLDFAST_TEST_NATS_URL: nats = '',
  HOLDFAST_TEST_ETCD_URL: etcd = '',
} = process.env
const name = `serve_nodes_${process.pid}`
const ROOM = '/api/documents/draft'
const LOCK = `${ROOM}/lock`

describe.each([
  ['redis', `${redis}?prefix=${name}`],
  ['postgres', `${postgres}?table=${name}`],
  ['mysql', `${mysql}?table=${name}`],
  ['nats', `${nats}?bucket=${name}`],
  ['etcd', `${etcd}?prefix=${name}/`],
])('two nodes of holdfast serve on %s', (_, store) => {
  const start = () => startServe(store, '--ttl', '1h', '--log-level', 'warn', '--admin-tokens', ADMIN_TOKEN)
  const trail = async (url: string) => {
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` }
    const { body } = await browserAt(url).call('GET', '/api/audit', undefined, { headers })
    return body.entries.map(({ action }) => action)
  }

  it('share contents, fences, sessions and events, and keep them over a restart', async () => {
    const [a, b] = await Promise.all([start(), start()])
    const room = await joinRoom(b.url, 'draft')
    const first = browserAt(a.url, 'first')
    const { token, you } = (await first.call('POST', LOCK)).body
    expect((await browserAt(b.url).call('GET', LOCK)).body).toMatchObject({ is_locked: true, token })
    expect((await first.call('PUT', ROOM, { content: 'by the first', token })).status).toBe(200)
    await eventually(() =>
      expect(room.heard).toEqual(expect.arrayContaining(['document.locked', 'document.saved'])),
    )
    room.close()
    const over = await first.call('PUT', ROOM, { content: '', token }, { headers: { 'If-Match': '"0"' } })
    expect([over.status, over.body.error]).toEqual([412, 'revision_mismatch'])

    const firstAtB = browserAt(b.url, 'first')
    firstAtB.cookie = first.cookie
    expect((await firstAtB.call('PUT', LOCK)).body).toMatchObject({ success: true, token })
    expect((await firstAtB.call('GET', ROOM)).body.content).toBe('by the first')
    await firstAtB.call('DELETE', LOCK)

    const second = browserAt(b.url, 'second')
    const { token: newer } = (await second.call('POST', LOCK)).body
    const stale = { content: 'by a stale holder', token }
    for (const holder of [first, firstAtB])
      expect(await holder.call('PUT', ROOM, stale)).toMatchObject({
        status: 409,
        body: { error: 'stale_token' },
      })
    expect((await second.call('PUT', ROOM, { content: 'by the second', token: newer })).status).toBe(200)
    expect((await first.call('GET', ROOM)).body.content).toBe('by the second')
    expect(a.server.stderr + b.server.stderr).not.toContain('secrets were created for this run')

    for (const { server } of [a, b]) server.signal('SIGKILL')
    await Promise.all([a.server.ended, b.server.ended])
    const c = await start()
    expect(await trail(c.url)).toEqual(['lock', 'unlock', 'lock'])
    const [firstAtC, secondAtC] = [browserAt(c.url, 'first'), browserAt(c.url, 'second')]
    firstAtC.cookie = first.cookie
    secondAtC.cookie = second.cookie
    expect((await firstAtC.call('GET', ROOM)).body.content).toBe('by the second')
    expect((await firstAtC.call('GET', LOCK)).body.you).toEqual(you)
    expect((await firstAtC.call('PUT', ROOM, stale)).body.error).toBe('stale_token')
    const again = await secondAtC.call('PUT', ROOM, { content: 'after the restart', token: newer })
    expect(again.status).toBe(200)
  })
})
