import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDocumentLock, type DocumentLock } from '../../src/client/index.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../eventually.ts'
import { checkProperty } from '../property.ts'
import { type WithholdingProxy, withholdingProxy } from './withholding-proxy.ts'

const TOKEN = 'the-token-of-this-program'

describe('a save that the network held back', () => {
  let server: HoldfastServer
  let network: WithholdingProxy
  let roomId: string
  beforeAll(async () => {
    const settings = { port: 0, rate: 0, logLevel: 'silent', adminTokens: [TOKEN] } as const
    server = await createServer({ store: memoryStore(), settings })
  })
  afterAll(() => server?.close())
  beforeEach(async () => {
    network = await withholdingProxy(server.port)
    onTestFinished(() => network[Symbol.asyncDispose]())
    roomId = crypto.randomUUID()
  })

  const open = (create = createDocumentLock): DocumentLock =>
    create({ url: network.url, roomId, clientId: 'tab', headers: { authorization: `Bearer ${TOKEN}` } })
  const isSave = (name: string) => name === `PUT /api/documents/${roomId}`
  const arrived = (count: number) => eventually(() => expect(network.withheld).toHaveLength(count))
  /** As another page with the same id. */
  const saveDirectly = async (body: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-holdfast-client': 'tab' }
    const response = await fetch(`${server.url}/api/documents/${roomId}`, {
      method: 'PUT',
      headers,
      body: JSON.stringify(body),
    })
    return response.status
  }

  it('a save that the network held back does not replace a later one, and its call resolves because the later one is stored', async () => {
    await using lock = open()
    await lock.acquire()
    network.withholds = isSave
    const early = lock.save('early')
    await arrived(1)
    network.withholds = () => false
    await lock.save('late')
    await network.withheld[0]?.deliver()
    await early
    expect(await lock.load()).toMatchObject({ content: 'late' })
  })

  it('a save that the network held back does not replace a later one either after its page was reloaded and still has the lock', async () => {
    await using before = open()
    await before.acquire()
    network.withholds = isSave
    before.save('before the reload').catch(() => {})
    await arrived(1)
    network.withholds = () => false
    vi.resetModules()
    const reloaded = await import('../../src/client/index.ts')
    await using after = open(reloaded.createDocumentLock)
    await after.acquire()
    expect(after.state.token).toBe(before.state.token)
    await after.save('after the reload')
    await network.withheld[0]?.deliver('unanswered')
    expect(await after.load()).toMatchObject({ content: 'after the reload' })
  })

  it('a save that the network held back is told from a save of a page whose clock was set back, which continues after the stored one', async () => {
    await using lock = open()
    await lock.acquire()
    const { token } = lock.state
    const sequence = Date.now() * 2000
    expect(await saveDirectly({ content: 'of the page before', token, sequence })).toBe(200)
    await lock.save('of this page')
    expect(await lock.load()).toMatchObject({ content: 'of this page' })
    expect(await saveDirectly({ content: 'held back', token, sequence })).toBe(409)
    expect(await lock.load()).toMatchObject({ content: 'of this page' })
  })

  it('a save that the network held back is refused by name if another page with the same id was faster, unless it is the latest of this page', async () => {
    await using lock = open()
    await lock.acquire()
    network.withholds = isSave
    const first = lock.save('first').catch((error: unknown) => error)
    await arrived(1)
    const second = lock.save('second')
    await arrived(2)
    network.withholds = () => false
    const sequence = Date.now() * 2000
    expect(await saveDirectly({ content: 'of the other page', token: lock.state.token, sequence })).toBe(200)
    await network.withheld[0]?.deliver()
    expect(await first).toMatchObject({ code: 'stale-save', retryable: false })
    await network.withheld[1]?.deliver()
    await second
    expect(await lock.load()).toMatchObject({ content: 'second' })
  })

  it('a save that the network held back leaves the latest one stored, in whichever order and how often saves arrive', async () => {
    await using lock = open()
    await lock.acquire()
    network.withholds = isSave
    const histories = fc.array(fc.nat(99), { minLength: 2, maxLength: 8 })
    let run = 0
    const property = fc.asyncProperty(histories, async (picks) => {
      run++
      network.withheld.length = 0
      const saves = picks.map((_, n) => lock.save(`${run}.${n}`))
      await arrived(picks.length)
      const sent = [...network.withheld]
      const order = picks.map((pick) => sent[pick % sent.length])
      for (const withheld of [...order, ...sent.toSorted((a, b) => order.indexOf(a) - order.indexOf(b))])
        await withheld?.deliver()
      await Promise.all(saves)
      // The requests of a page leave in the order of the calls, but may arrive at the proxy in another one.
      expect(await lock.load()).toMatchObject({ content: `${run}.${picks.length - 1}` })
    })
    await checkProperty(property, { numRuns: 20 })
  })
})
