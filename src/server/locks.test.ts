import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Browser, type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'
import { LeaseError } from '../base/errors.ts'
import { memoryDocuments } from './documents.ts'

const LOCK = '/api/documents/room-1/lock'
const RESOURCE = 'document:room-1'

describe('a request for a lock', () => {
  const documents = memoryDocuments()
  let bed: ServiceBed
  let user: Browser
  beforeEach(async () => {
    bed = await serviceBed({ documents })
    user = bed.browser('tab-1')
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await bed[Symbol.asyncDispose]()
  })
  const failFence = () =>
    vi.spyOn(documents, 'fence').mockRejectedValueOnce(new LeaseError('store-unavailable', 'no answer'))

  it('a request for a lock that a later unlock of the same tab has overtaken in the store is withdrawn', async () => {
    // As stores reject a request that waits in the process.
    vi.spyOn(bed.store, 'acquire').mockRejectedValueOnce(new LeaseError('aborted', 'the id was released'))
    expect(await user.call('POST', LOCK)).toMatchObject({ status: 409, body: { error: 'withdrawn' } })
  })

  it('a request for a lock whose fence cannot be stored gives the lock back', async () => {
    failFence()
    expect((await user.call('POST', LOCK)).status).toBe(503)
    expect(await bed.store.read([RESOURCE])).toEqual([[]])
  })

  it.each(['the same node', 'another node'])(
    'repeated at %s keeps its lock though the store of documents fails',
    async (where) => {
      await using other = await serviceBed({ documents, store: bed.store })
      const { token } = (await user.call('POST', LOCK)).body
      await bed.clock.advance(2000)
      const again = where === 'the same node' ? user : other.browser('tab-1')
      again.cookie = user.cookie
      failFence()
      expect((await again.call('POST', LOCK)).status).toBe(503)
      expect(await bed.store.read([RESOURCE])).toMatchObject([[{ token, state: 'held' }]])
    },
  )
})
