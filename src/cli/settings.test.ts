import { describe, expect, it } from 'vitest'
import { CommandSettings } from './settings.ts'

describe('a duration among the settings', () => {
  const ttl = { type: 'string', setting: 'environment', help: '' } as const
  const read = async (flags: Record<string, string>, environment: NodeJS.ProcessEnv) =>
    (await CommandSettings.load(flags, { ttl }, environment)).duration('ttl')

  it('is in milliseconds, and the flag wins over the environment', async () => {
    expect(await read({ ttl: '1d' }, { HOLDFAST_TTL: '1s' })).toBe(86_400_000)
    expect(await read({}, { HOLDFAST_TTL: '1s' })).toBe(1000)
    expect(await read({}, {})).toBeUndefined()
  })

  it.each([
    ['--ttl', { ttl: '1w' }, {}],
    ['HOLDFAST_TTL', {}, { HOLDFAST_TTL: '1w' }],
  ])('from %s that is malformed is an error that names its source', async (source, flags, environment) => {
    await expect(read(flags, environment)).rejects.toThrow(
      `${source}: expected a duration such as 500ms, 30s or 5m, got "1w"`,
    )
  })
})
