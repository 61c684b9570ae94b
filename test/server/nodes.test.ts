import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { browserAt, joinRoom, type RoomSocket, type ServiceNode, startNode } from './node-client.ts'
import { NODE_SETTINGS } from './node-settings.ts'
import type { Browser } from './service-bed.ts'

const { HOLDFAST_TEST_REDIS_URL: redis = '', HOLDFAST_TEST_POSTGRES_URL: postgres = '' } = process.env

describe.each([
  ['postgres', postgres],
  ['redis', redis],
])('three nodes on %s', (kind, store) => {
  const name = `nodes_${kind}_${process.pid}`
  let nodes: ServiceNode[] = []
  beforeAll(async () => {
    nodes = await Promise.all(Array.from({ length: 3 }, () => startNode(store, postgres, name)))
  })
  afterAll(() => {
    for (const { process } of nodes) process.kill('SIGKILL')
  })
  const url = (n: number) => nodes[n]?.url ?? ''
  const lockOf = (room: string) => `/api/documents/${room}/lock`
  const everywhere = (room: string) => Promise.all(nodes.map((node) => joinRoom(node.url, room)))
  const allHear = (sockets: readonly RoomSocket[], events: readonly string[]) =>
    eventually(() => {
      for (const { heard } of sockets) expect(heard).toEqual(events)
    })

  /** Keeps the lock until it is told to stop. */
  const beat = (holder: Browser, room: string) => {
    const beating = setInterval(() => holder.call('PUT', lockOf(room)).catch(() => {}), 500)
    return () => clearInterval(beating)
  }

  it.concurrent('refuse on B and C what was locked on A, and announce it to each socket once', async () => {
    const room = 'shared'
    const sockets = await everywhere(room)
    const user = browserAt(url(0))
    const { token } = (await user.call('POST', lockOf(room))).body
    const rest = beat(user, room)
    for (const n of [1, 2]) {
      const refused = await browserAt(url(n)).call('POST', lockOf(room))
      expect(refused.body).toMatchObject({ error: 'already_locked', holder: { is_you: false } })
    }
    await allHear(sockets, ['document.locked'])
    const elsewhere = browserAt(url(2))
    elsewhere.cookie = user.cookie
    expect((await elsewhere.call('PUT', lockOf(room))).body.token).toBe(token)
    const saved = await elsewhere.call('PUT', `/api/documents/${room}`, { content: 'by C', token })
    expect(saved.status).toBe(200)
    expect((await user.call('GET', `/api/documents/${room}`)).body.content).toBe('by C')
    await allHear(sockets, ['document.locked', 'document.saved'])
    rest()
    expect((await elsewhere.call('DELETE', lockOf(room))).status).toBe(200)
    await allHear(sockets, ['document.locked', 'document.saved', 'document.unlocked'])
    for (const socket of sockets) socket.close()
  })

  it.concurrent('announce an expiry once to each socket, even if all of them sweep', async () => {
    const room = 'lapsing'
    const sockets = await everywhere(room)
    expect((await browserAt(url(0)).call('POST', lockOf(room))).status).toBe(200)
    await allHear(sockets, ['document.locked', 'document.unlocked'])
    // A second lock, so that an event that is sent twice for the first one would come before its events.
    const next = browserAt(url(1))
    expect((await next.call('POST', lockOf(room))).status).toBe(200)
    await next.call('DELETE', lockOf(room))
    await allHear(sockets, ['document.locked', 'document.unlocked', 'document.locked', 'document.unlocked'])
    for (const socket of sockets) socket.close()
  })

  it.concurrent('pass on a handoff request, its answer and the queue', async () => {
    const room = 'handed'
    const [socket] = await everywhere(room)
    const holder = browserAt(url(0), 'holder')
    await holder.call('POST', lockOf(room))
    const rest = beat(holder, room)
    const waiting = browserAt(url(1), 'waiter').call('POST', `${lockOf(room)}?wait=60`, { name: 'Ren' })
    await eventually(() => expect(socket?.heard).toContain('document.line'))
    expect((await holder.call('GET', lockOf(room))).body).toMatchObject({ waiting: [{ name: 'Ren' }] })
    const asking = browserAt(url(1), 'asker').call('POST', `${lockOf(room)}/request`)
    await eventually(() => expect(socket?.heard).toContain('document.takeover-requested'))
    const asked = socket?.frames.find(({ event }) => event === 'document.takeover-requested')?.data
    const elsewhere = browserAt(url(2), 'holder')
    elsewhere.cookie = holder.cookie
    const { request_id } = Object(asked)
    await elsewhere.call('POST', `${lockOf(room)}/request/answer`, { request_id, granted: false })
    expect((await asking).body.error).toBe('handover_declined')
    rest()
    await holder.call('DELETE', lockOf(room))
    expect((await waiting).status).toBe(200)
  })

  it('continue with the clients of a node that was killed', async () => {
    const room = 'survivor'
    const sockets = await Promise.all([1, 2].map((n) => joinRoom(url(n), room)))
    const user = browserAt(url(0))
    const { token } = (await user.call('POST', lockOf(room))).body
    await allHear(sockets, ['document.locked'])
    const renewedAt = performance.now()
    await user.call('PUT', lockOf(room))
    nodes[0]?.process.kill('SIGKILL')
    const moved = browserAt(url(1))
    moved.cookie = user.cookie
    const { body } = await moved.call('PUT', lockOf(room))
    // A machine that stood still for the whole TTL has let the lock expire.
    if (performance.now() - renewedAt < NODE_SETTINGS.ttl)
      expect(body).toMatchObject({ success: true, token })
    await allHear(sockets, ['document.locked', 'document.unlocked'])
    expect((await browserAt(url(2)).call('POST', lockOf(room))).body.token).toBeGreaterThan(token)
  })
})
