import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { redisGuard } from './index.ts'

const client = { eval: async () => null }

/** What a cluster hashes to find the slot of a key, by its specification. */
function hashedPart(key: string): string {
  const start = key.indexOf('{')
  const end = key.indexOf('}', start + 1)
  return start >= 0 && end > start + 1 ? key.slice(start + 1, end) : key
}

describe('the fence of a key in Redis', () => {
  it('the fence of a key in Redis is in the slot of the key', () => {
    const keys = fc.string({ unit: fc.constantFrom('{', '}', 'a', 'b', ':', '界'), minLength: 1 })
    let guarded = 0
    checkProperty(
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

  it('the fence of a key in Redis has a readable name', () => {
    expect(redisGuard(client, 'document:42').fenceKey).toBe('{document:42}:fence')
    expect(redisGuard(client, 'document:{42}').fenceKey).toBe('document:{42}:fence')
  })

  it.each([
    ['', '""'],
    ['a}', '"a}"'],
    [10n, '10n'],
    [null, 'null'],
  ])('the fence of a key in Redis is refused for the key %s', (key, shown) => {
    expect(() => redisGuard(client, key as string)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: `key: expected a text without "}", or with a {tag}, got ${shown}`,
      }),
    )
  })
})

describe('a guarded value in Redis', () => {
  it.each([
    [{ a: 1 }, {}, 'value: expected a string, got an object'],
    [10n, {}, 'value: expected a string, got 10n'],
    ['text', null, 'options: expected an object, got null'],
    ['text', { px: -1 }, /^px: expected whole milliseconds from 1 .*, got -1$/],
    ['text', { px: 1.5 }, /^px: expected whole milliseconds from 1 .*, got 1.5$/],
    ['text', { px: 5n }, /^px: expected whole milliseconds from 1 .*, got 5n$/],
    ['text', { px: 'soon' }, /^px: expected whole milliseconds from 1 .*, got "soon"$/],
  ])(
    'a guarded value in Redis is refused before the fence is raised: case %#',
    async (value, options, message) => {
      let scripts = 0
      const guard = redisGuard({ eval: async () => ++scripts }, 'document:42')
      const lease = { resource: 'r', token: 1, id: 'a' }
      await expect(guard.set(lease, value as string, options as object)).rejects.toMatchObject({
        code: 'invalid-argument',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      })
      expect(scripts).toBe(0)
    },
  )

  it('a guarded value in Redis is kept for a duration in milliseconds or as text', async () => {
    const kept: (string | undefined)[] = []
    const redis = {
      eval: async (_script: string, _keys: number, ...args: string[]) => void kept.push(args.at(-1)),
    }
    const guard = redisGuard(redis, 'document:42')
    for (const options of [{ px: 1500 }, { px: '1m' }, {}] as const)
      await guard.set({ resource: 'r', token: 1, id: 'a' }, 'text', options)
    expect(kept).toEqual(['1500', '60000', ''])
  })
})

it('the former name check still announces a lease, and warns once', async () => {
  const warnings = vi.spyOn(process, 'emitWarning').mockReturnValue()
  const guard = redisGuard({ eval: async () => null }, 'k')
  for (const token of [1, 2]) await guard.check({ resource: 'r', token, id: 'a' })
  const message =
    'redisGuard: check() is now announce(), because it protects no later write: write with set()'
  expect(warnings.mock.calls).toEqual([[message, 'HoldfastWarning']])
  warnings.mockRestore()
})

describe('what is not a Redis client', () => {
  it('what is not a Redis client is refused if it does not return the answer of the script', async () => {
    const guard = redisGuard({ eval: async () => 'QUEUED' }, 'k')
    await expect(guard.announce({ resource: 'r', token: 1, id: 'a' })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'client: expected one that returns the answer of its script, got an object',
    })
  })

  it.each([
    ['null', null, 'null'],
    ['an empty object', {}, 'an object'],
    ['a URL', 'redis://:secret@localhost', 'a string'],
    ['a BigInt', 10n, '10n'],
  ])('what is not a Redis client is refused: %s', (_, client, shown) => {
    expect(() => redisGuard(client as never, 'k')).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(`^client: expected a Redis or Cluster of ioredis, .*, got ${shown}$`),
      }),
    )
  })
})
