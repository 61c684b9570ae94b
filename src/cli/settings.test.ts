import { describe, expect, it } from 'vitest'
import type { Options } from './command.ts'
import { CommandSettings } from './settings.ts'

describe('a duration among the settings', () => {
  const ttl = { type: 'string', setting: 'environment', help: '' } as const
  const read = async (flags: Record<string, string>, environment: NodeJS.ProcessEnv) =>
    (await CommandSettings.load(flags, { ttl }, environment)).duration('ttl')

  it('a duration among the settings is in milliseconds, and the flag wins over the environment', async () => {
    expect(await read({ ttl: '1d' }, { HOLDFAST_TTL: '1s' })).toBe(86_400_000)
    expect(await read({}, { HOLDFAST_TTL: '1s' })).toBe(1000)
    expect(await read({}, {})).toBeUndefined()
  })

  it.each([
    ['--ttl', { ttl: '1w' }, {}],
    ['HOLDFAST_TTL', {}, { HOLDFAST_TTL: '1w' }],
  ])(
    'a duration among the settings from %s that is malformed is an error that names its source',
    async (source, flags, environment) => {
      await expect(read(flags, environment)).rejects.toThrow(
        `${source}: expected a duration such as 500ms, 30s or 5m, got "1w"`,
      )
    },
  )
})

describe('a variable of the environment', () => {
  const options: Options = { wait: { type: 'string', setting: 'environment', help: '' } }
  const load = (environment: NodeJS.ProcessEnv) => CommandSettings.load({}, options, environment)

  it.each([
    ['HOLDFAST_STROE', 'HOLDFAST_STORE'],
    ['HOLDFAST_WIAT', 'HOLDFAST_WAIT'],
  ])('a variable of the environment that is misspelt is refused: %s', async (name, meant) => {
    await expect(load({ [name]: 'x' })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: `${name}: unknown variable, did you mean ${meant}?`,
    })
  })

  it('a variable of the environment of another program, of another command, or of a run around it is ignored', async () => {
    const names = ['URL', 'TOKEN', 'RESOURCE', 'LEASE_ID', 'OWNER', 'SLACK_URL', 'TEST_REDIS_URL', 'HOME']
    await load(Object.fromEntries(names.map((name) => [`HOLDFAST_${name}`, 'x'])))
  })
})
