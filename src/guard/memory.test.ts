import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLeases, LeaseError } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import type { Fence } from './index.ts'
import { memoryGuard } from './index.ts'

const fence = (token: number, id = `lease ${token}`): Fence => ({ resource: 'r', token, id })

describe('a guard in memory', () => {
  it('lets the same lease write again, and newer ones', () => {
    const guard = memoryGuard()
    for (const token of [5, 5, 6, 1_794_719_438_119_000, 1_794_719_438_119_001]) guard.check(fence(token))
  })

  it('refuses a lower token, also by one', () => {
    const guard = memoryGuard()
    guard.check(fence(1_794_719_438_119_001))
    const refused = () => guard.check(fence(1_794_719_438_119_000))
    expect(refused).toThrow(LeaseError)
    expect(refused).toThrow(
      expect.objectContaining({
        code: 'stale-token',
        retryable: false,
        resource: 'r',
        message:
          'token 1794719438119000 of r is refused: a newer lease, with token 1794719438119001, was here already',
      }),
    )
  })

  it('refuses the same token of another lease', () => {
    const guard = memoryGuard()
    guard.check(fence(5, 'one'))
    expect(() => guard.check(fence(5, 'another'))).toThrow('another lease has the same token')
    guard.check(fence(5, 'one'))
  })

  it('keeps resources apart', () => {
    const guard = memoryGuard()
    guard.check({ resource: '__proto__', token: 9, id: 'a' })
    guard.check({ resource: 'constructor', token: 1, id: 'b' })
  })

  it('never lets a token through that is below one that it let through', () => {
    const tokens = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 })
    fc.assert(
      fc.property(tokens, (asked) => {
        const guard = memoryGuard()
        const passed = asked.filter((token) => {
          try {
            guard.check(fence(token))
            return true
          } catch {
            return false
          }
        })
        expect(passed).toEqual(passed.toSorted((a, b) => a - b))
        expect(passed.at(-1)).toBe(Math.max(...asked))
      }),
    )
  })

  it('says what is missing', () => {
    const guard = memoryGuard()
    for (const lease of [undefined, {}, fence(1.5), fence(2 ** 53), { ...fence(1), id: '' }])
      expect(() => guard.check(lease as Fence)).toThrow(/^lease: expected its resource, token and id, got /)
  })

  it('stops a holder that was paused, and lets its successor write', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const guard = memoryGuard()
    let document = ''
    const save = (lease: Fence, text: string) => {
      guard.check(lease)
      document = text
    }
    const [one, other] = [createLeases(store, { clock }), createLeases(store, { clock })]
    const paused = await one.acquire('document:42', { heartbeat: false })
    await clock.advance(30_000)
    const successor = await other.acquire('document:42')
    save(successor, 'by the successor')
    expect(() => save(paused, 'by the paused one')).toThrow(/is refused/)
    expect(document).toBe('by the successor')
  })
})
