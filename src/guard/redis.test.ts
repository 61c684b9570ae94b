import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redisGuard } from './index.ts'

const client = { eval: async () => null }

/** What a cluster hashes to find the slot of a key, by its specification. */
function hashedPart(key: string): string {
  const start = key.indexOf('{')
  const end = key.indexOf('}', start + 1)
  return start >= 0 && end > start + 1 ? key.slice(start + 1, end) : key
}

describe('the fence of a key in Redis', () => {
  it('is in the slot of the key', () => {
    const keys = fc.string({ unit: fc.constantFrom('{', '}', 'a', 'b', ':', '界'), minLength: 1 })
    let guarded = 0
    fc.assert(
      fc.property(keys, (key) => {
        let fenceKey: string
        try {
          fenceKey = redisGuard(client, key).fenceKey
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid-argument' })
          expect(hashedPart(key)).toBe(key)
          expect(key).toContain('}')
          return
        }
        guarded++
        expect(fenceKey).not.toBe(key)
        expect(hashedPart(fenceKey)).toBe(hashedPart(key))
      }),
      { numRuns: 2000 },
    )
    expect(guarded).toBeGreaterThan(500)
  })

  it('has a readable name', () => {
    expect(redisGuard(client, 'document:42').fenceKey).toBe('{document:42}:fence')
    expect(redisGuard(client, 'document:{42}').fenceKey).toBe('document:{42}:fence')
    expect(() => redisGuard(client, '')).toThrow('key: expected one without "}" or with a {tag}, got ""')
  })
})

describe('a guarded value in Redis', () => {
  it.each([
    [{ a: 1 }, {}, 'value: expected a string, got object'],
    ['text', { px: -1 }, 'px: expected a whole number of milliseconds from 1, got -1'],
    ['text', { px: 1.5 }, 'px: expected a whole number of milliseconds from 1, got 1.5'],
  ])('is refused before the fence is raised: %j, %j', async (value, options, message) => {
    let scripts = 0
    const guard = redisGuard({ eval: async () => ++scripts }, 'document:42')
    const lease = { resource: 'r', token: 1, id: 'a' }
    await expect(guard.set(lease, value as string, options)).rejects.toMatchObject({
      code: 'invalid-argument',
      message,
    })
    expect(scripts).toBe(0)
  })
})
