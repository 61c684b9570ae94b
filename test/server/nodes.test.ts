import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { browserAt, joinRoom, type RoomSocket, type ServiceNode, startNode } from './node-client.ts'

const PATIENT = { timeout: 20_000, interval: 20 }

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
    vi.waitFor(() => {
      for (const { heard } of sockets) expect(heard).toEqual(events)
    }, PATIENT)

  it('refuse and announce through B and C what was locked through A, each socket once', async () => {
    const room = 'shared'
    const sockets = await everywhere(room)
    const user = browserAt(url(0))
    const { token } = (await user.call('POST', lockOf(room))).body
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
    expect((await elsewhere.call('DELETE', lockOf(room))).status).toBe(200)
    await allHear(sockets, ['document.locked', 'document.saved', 'document.unlocked'])
    for (const socket of sockets) socket.close()
  })

  it('announce an expiry once on each socket, though all of them sweep', async () => {
    const room = 'lapsing'
    const sockets = await everywhere(room)
    expect((await browserAt(url(0)).call('POST', lockOf(room))).status).toBe(200)
    await allHear(sockets, ['document.locked', 'document.unlocked'])
    // A second life, so that whatever is told twice of the first would be among it.
    const next = browserAt(url(1))
    expect((await next.call('POST', lockOf(room))).status).toBe(200)
    await next.call('DELETE', lockOf(room))
    await allHear(sockets, ['document.locked', 'document.unlocked', 'document.locked', 'document.unlocked'])
    for (const socket of sockets) socket.close()
  })

  it('pass a request to hand over, its answer and the line from one to the other', async () => {
    const room = 'handed'
    const [socket] = await everywhere(room)
    const holder = browserAt(url(0), 'holder')
    await holder.call('POST', lockOf(room))
    const beating = setInterval(() => void holder.call('PUT', lockOf(room)), 500)
    const waiting = browserAt(url(1), 'waiter').call('POST', `${lockOf(room)}?wait=30`, { name: 'Ren' })
    await vi.waitFor(() => expect(socket?.heard).toContain('document.line'), PATIENT)
    expect((await holder.call('GET', lockOf(room))).body).toMatchObject({ waiting: [{ name: 'Ren' }] })
    const asking = browserAt(url(1), 'asker').call('POST', `${lockOf(room)}/request`)
    await vi.waitFor(() => expect(socket?.heard).toContain('document.takeover-requested'), PATIENT)
    const asked = socket?.frames.find(({ event }) => event === 'document.takeover-requested')?.data
    const elsewhere = browserAt(url(2), 'holder')
    elsewhere.cookie = holder.cookie
    const { request_id } = Object(asked)
    await elsewhere.call('POST', `${lockOf(room)}/request/answer`, { request_id, granted: false })
    expect((await asking).body.error).toBe('handover_declined')
    clearInterval(beating)
    await holder.call('DELETE', lockOf(room))
    expect((await waiting).status).toBe(200)
  })

  it('go on with the clients of a node that is killed', async () => {
    const room = 'survivor'
    const sockets = await Promise.all([1, 2].map((n) => joinRoom(url(n), room)))
    const user = browserAt(url(0))
    const { token } = (await user.call('POST', lockOf(room))).body
    await allHear(sockets, ['document.locked'])
    nodes[0]?.process.kill('SIGKILL')
    const moved = browserAt(url(1))
    moved.cookie = user.cookie
    expect((await moved.call('PUT', lockOf(room))).body).toMatchObject({ success: true, token })
    await allHear(sockets, ['document.locked', 'document.unlocked'])
    expect((await browserAt(url(2)).call('POST', lockOf(room))).body.token).toBeGreaterThan(token)
  })
})
