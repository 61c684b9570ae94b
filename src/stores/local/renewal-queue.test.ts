import { describe, expect, it, vi } from 'vitest'
import { asLeaseError } from '../../base/errors.ts'
import { FakeClock } from '../../testing/index.ts'
import { StoreCalls } from './store-calls.ts'

/** As many are under way at once. */
const MOST = 128

/** A store that answers renewals when it is told to. */
function setUp() {
  const clock = new FakeClock()
  const calls = new StoreCalls({ backend: 'Toy', explain: asLeaseError, clock })
  const sent: { readonly name: string; answer(): void }[] = []
  const queued = vi.fn()
  const renew = (name: string) => {
    const work = () => new Promise<string>((resolve) => sent.push({ name, answer: () => resolve(name) }))
    const renewal = calls.renew(work, { timeout: 5000, queued }, 'r')
    renewal.catch(() => {})
    return renewal
  }
  const fill = () => Array.from({ length: MOST }, (_, n) => renew(`first ${n}`))
  return { clock, calls, sent, queued, renew, fill }
}

describe('a renewal beyond those that may be under way', () => {
  it('waits in this process without a limit, and is sent when another one is answered', async () => {
    const { clock, sent, queued, renew, fill } = setUp()
    const first = fill()
    expect(queued).not.toHaveBeenCalled()
    const next = renew('next')
    expect(queued.mock.calls).toEqual([[true]])
    await clock.advance(4000)
    expect(sent).toHaveLength(MOST)
    sent[0]?.answer()
    await first[0]
    await clock.advance(4000)
    expect(queued.mock.calls).toEqual([[true], [false]])
    sent.at(-1)?.answer()
    expect(await next).toBe('next')
  })

  it('a renewal beyond those that may be under way is sent when the callers of those before it have gone, though they are not answered', async () => {
    const { clock, sent, renew, fill } = setUp()
    fill()
    void renew('next')
    await clock.advance(5100)
    expect(sent.at(-1)?.name).toBe('next')
  })

  it('a renewal beyond those that may be under way is not sent after the store was closed, and those before it make room all the same', async () => {
    const { clock, calls, sent, renew, fill } = setUp()
    const first = fill()
    const next = renew('next')
    const closing = calls.close()
    await clock.advance(6000)
    await closing
    for (const { answer } of sent) answer()
    await expect(next).rejects.toMatchObject({ code: 'closed' })
    await Promise.allSettled(first)
    expect(sent).toHaveLength(MOST)
  })
})
