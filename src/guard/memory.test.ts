import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { LeaseError } from '../base/errors.ts'
import { createLeases } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import type { Fence } from './index.ts'
import { memoryGuard } from './index.ts'

const fence = (token: number, id = `lease ${token}`): Fence => ({ resource: 'r', token, id })

describe('a guard in memory', () => {
  it('a guard in memory accepts the same lease again, and newer leases', () => {
    const guard = memoryGuard()
    for (const token of [5, 5, 6, 1_794_719_438_119_000, 1_794_719_438_119_001]) guard.check(fence(token))
  })

  it('a guard in memory refuses a lower token, even if it is lower by one', () => {
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
          'token 1794719438119000 of r is refused: the guard has seen a newer lease, with token 1794719438119001',
      }),
    )
  })

  it('a guard in memory refuses the same token of another lease', () => {
    const guard = memoryGuard()
    guard.check(fence(5, 'one'))
    expect(() => guard.check(fence(5, 'another'))).toThrow('another lease has the same token')
    guard.check(fence(5, 'one'))
  })

  it('a guard in memory runs the work of write() after the check, and refuses async work', () => {
    const guard = memoryGuard()
    expect(guard.write(fence(5), () => 'result')).toBe('result')
    expect(() => guard.write(fence(4), () => expect.unreachable())).toThrow('token 4 of r is refused')
    expect(() => guard.write(fence(5), async () => {})).toThrow('work: expected a function that is not async')
  })

  it('a guard in memory keeps resources apart', () => {
    const guard = memoryGuard()
    guard.check({ resource: '__proto__', token: 9, id: 'a' })
    guard.check({ resource: 'constructor', token: 1, id: 'b' })
  })

  it('a guard in memory never accepts a token that is lower than an accepted one', () => {
    const tokens = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 })
    checkProperty(
      fc.property(tokens, (checked) => {
        const guard = memoryGuard()
        const accepted = checked.filter((token) => {
          try {
            guard.check(fence(token))
            return true
          } catch {
            return false
          }
        })
        expect(accepted).toEqual(accepted.toSorted((a, b) => a - b))
        expect(accepted.at(-1)).toBe(Math.max(...checked))
      }),
    )
  })

  it.each([
    [undefined, 'lease: expected a lease, such as acquire() resolves with, got undefined'],
    [10n, 'lease: expected a lease, such as acquire() resolves with, got 10n'],
    [Object.create(null), 'lease.resource: expected a non-empty string, got undefined'],
    [{ token: 1n }, 'lease.resource: expected a non-empty string, got undefined'],
    [{ ...fence(1), token: 1n }, 'lease.token: expected a whole number, got 1n'],
    [fence(1.5), 'lease.token: expected a whole number, got 1.5'],
    [fence(2 ** 53), 'lease.token: expected a whole number, got 9007199254740992'],
    [{ ...fence(1), id: '' }, 'lease.id: expected a non-empty string, got ""'],
    [{ ...fence(1), id: Symbol('a') }, 'lease.id: expected a non-empty string, got Symbol(a)'],
  ])('a guard in memory rejects what is not a lease, and names the field: case %#', (lease, message) => {
    expect(() => memoryGuard().check(lease as Fence)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', message }),
    )
  })

  it('a guard in memory refuses a holder that was paused, and accepts its successor', async () => {
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
