import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { connect, type Network, open } from '../../test/server/page-network.ts'
import { type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'
import type { DocumentLock } from './index.ts'

const LOCK = '/api/documents/room-1/lock'
const RESOURCE = 'document:room-1'

describe('the next lock object of a page for the same document', () => {
  let bed: ServiceBed
  let network: Network
  let former: DocumentLock
  let next: DocumentLock | undefined
  beforeEach(async () => {
    bed = await serviceBed()
    network = connect(bed)
    former = open(bed)
    await eventually(() => expect(former.state.me).not.toBeNull())
  })
  afterEach(async () => {
    await next?.close()
    await former.close()
    vi.unstubAllGlobals()
    await bed[Symbol.asyncDispose]()
  })
  const isHeld = async () => expect(await bed.store.read([RESOURCE])).toMatchObject([[{ state: 'held' }]])
  const sent = (request: string) => network.sent.filter((name) => name === request).length
  /** The first request of this name waits, on its way to the server or back, until the result is called. */
  const withhold = (request: string, on: 'onRequest' | 'onResponse') => {
    const { promise: delayed, resolve } = Promise.withResolvers<void>()
    let isFirst = true
    network[on] = (name) => {
      if (name !== request || !isFirst) return undefined
      isFirst = false
      return delayed
    }
    return resolve
  }
  /** Only the withheld request is unanswered, and nothing more happens without it. */
  const asFarAsPossible = async () => {
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    await eventually(() => expect(network.unanswered).toBe(1))
  }
  /** What was withheld has reached the server, and what that caused is over. */
  const settle = async () => {
    await eventually(() => expect(network.unanswered).toBe(0))
    await bed.clock.advance(1500)
    await eventually(() => expect(network.unanswered).toBe(0))
  }

  it('the next lock object of a page for the same document keeps its lock when the release of the former one is late', async () => {
    await former.acquire()
    const deliver = withhold(`POST ${LOCK}/release`, 'onRequest')
    const closing = former.close()
    await eventually(() => expect(sent(`POST ${LOCK}/release`)).toBe(1))
    next = open(bed)
    const acquiring = next.acquire()
    await asFarAsPossible()
    deliver()
    await closing
    expect(await acquiring).toBe(true)
    await settle()
    expect(next.state).toMatchObject({ phase: 'held' })
    await isHeld()
  })

  it('the next lock object of a page for the same document keeps its lock when the withdrawal of the former one is late', async () => {
    const grant = withhold(`POST ${LOCK}`, 'onResponse')
    const lost = former.acquire()
    await eventually(isHeld)
    const deliver = withhold(`DELETE ${LOCK}`, 'onRequest')
    void former.close()
    expect(await lost).toBe(false)
    await eventually(() => expect(sent(`DELETE ${LOCK}`)).toBe(1))
    grant()
    next = open(bed)
    const acquiring = next.acquire()
    await asFarAsPossible()
    deliver()
    expect(await acquiring).toBe(true)
    await settle()
    expect(next.state).toMatchObject({ phase: 'held' })
    await isHeld()
  })

  it('the next lock object of a page for the same document keeps its lock when the grant of the former one is late, whose withdrawal was lost', async () => {
    const deliver = withhold(`POST ${LOCK}`, 'onResponse')
    network.onRequest = (name) => {
      if (name === `DELETE ${LOCK}`) throw new TypeError('network error')
    }
    const lost = former.acquire()
    await eventually(isHeld)
    await former.close()
    expect(await lost).toBe(false)
    next = open(bed)
    expect(await next.acquire()).toBe(true)
    deliver()
    await settle()
    expect(next.state).toMatchObject({ phase: 'held' })
    expect(sent(`POST ${LOCK}/release`)).toBe(0)
    await isHeld()
  })
})
