import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { type GivenSettings, SETTINGS, type SettingName, settingsOf } from './settings.ts'

describe('the settings', () => {
  it('the settings have defaults: 30 s to live, a heartbeat every 10', () => {
    const { ttl, heartbeat, sweep, grace, answerWithin, unanswered, port, host } = settingsOf()
    expect({ ttl, heartbeat, sweep, grace, answerWithin }).toEqual({
      ttl: 30_000,
      heartbeat: 10_000,
      sweep: 60_000,
      grace: 5000,
      answerWithin: 15_000,
    })
    expect([unanswered, host, port]).toEqual(['decline', '127.0.0.1', 4321])
  })

  it('the settings are given in code as in a file or in the environment', () => {
    const given: GivenSettings = {
      ...{ ttl: '1m', heartbeat: 10_000, port: undefined, takeover: 'false' },
      ...{ origins: 'https://a.test', leaseTokens: ['a token of a worker'] },
    }
    expect(settingsOf(given)).toMatchObject({
      ...{ ttl: 60_000, heartbeat: 10_000, port: 4321, takeover: false },
      ...{ origins: ['https://a.test'], leaseTokens: ['a token of a worker'] },
    })
  })

  it('the settings of a short ttl have a heartbeat of a third of it, unless another is given', () => {
    expect(settingsOf({ ttl: '10s' }).heartbeat).toBe(3333)
    expect(settingsOf({ ttl: '1s' }).heartbeat).toBe(333)
    expect(settingsOf({ ttl: '5m' }).heartbeat).toBe(10_000)
    expect(settingsOf({ ttl: '10s', heartbeat: '8s' }).heartbeat).toBe(8000)
  })

  it('the settings have the types that code may write', () => {
    // @ts-expect-error: not a duration
    const late: GivenSettings = { ttl: 'banana' }
    // @ts-expect-error: not a number
    const open: GivenSettings = { port: 'http' }
    // @ts-expect-error: not a choice
    const loud: GivenSettings = { logLevel: 'loud' }
    for (const given of [late, open, loud]) expect(() => settingsOf(given)).toThrow(/: expected .*, got "/)
  })

  it('the settings have a comment for editors, which is their help', () => {
    const source = readFileSync(new URL('./settings.ts', import.meta.url), 'utf8')
    const comments = source.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(\w+): \w+\(/gm)
    const found = Array.from(comments, ([, comment = '', name = '']) => [
      name,
      comment
        .replace(/\n {3}\*?/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ])
    const expected = Object.entries(SETTINGS).map(([name, { help, usual }]) => [
      name,
      `${help.charAt(0).toUpperCase()}${help.slice(1)}.${usual && ` Default \`${usual}\`.`}`,
    ])
    expect(found).toEqual(expected)
  })

  it.each([
    ['ttl', '1m', 60_000],
    ['ttl', 45_000, 45_000],
    ['ttl', '45000', 45_000],
    ['grace', '1500ms', 1500],
    ['grace', '0.5s', 500],
    ['grace', '1.001s', 1001],
    ['cookieMaxAge', '30d', 2_592_000_000],
    ['takeover', 'false', false],
    ['takeover', false, false],
    ['port', '8080', 8080],
    ['origins', 'https://a.test, https://b.test', ['https://a.test', 'https://b.test']],
    ['origins', ['https://a.test'], ['https://a.test']],
    ['origins', 'HTTPS://A.test:443/', ['https://a.test']],
    ['origins', 'http://a.test:80, http://[::1]:8080/', ['http://a.test', 'http://[::1]:8080']],
    ['origins', 'https://é.test', ['https://xn--9ca.test']],
    ['origins', 'chrome-extension://abcd', ['chrome-extension://abcd']],
    ['unanswered', 'grant', 'grant'],
    [
      'cookieSecrets',
      'a secret of sixteen,another of sixteen',
      ['a secret of sixteen', 'another of sixteen'],
    ],
  ] as const)('the settings take %s as %j', (name, value, expected) => {
    expect(settingsOf({ [name]: value })[name as SettingName]).toEqual(expected)
  })

  it.each([
    [
      { ttl: 'soon' },
      'ttl: expected a duration such as 500ms, 30s, 5m or a number of milliseconds, from 1s to 1h, got "soon"',
    ],
    [{ ttl: '2h' }, 'got "2h"'],
    [{ ttl: '-1s' }, 'got "-1s"'],
    [{ port: 70_000 }, 'port: expected a whole number from 0 to 65535, got 70000'],
    [{ takeover: 'maybe' }, 'takeover: expected true or false, got "maybe"'],
    [{ unanswered: 'ask' }, 'unanswered: expected one of decline, grant, got "ask"'],
    [{ origins: 7 }, 'origins: expected a list of origins such as https://app.example.com'],
    [{ origins: '*' }, 'got "*"; write each origin by itself'],
    [{ origins: 'https://*.a.test' }, 'got "https://*.a.test"; write each origin by itself'],
    [{ origins: 'https://a.test,https://b.test/app' }, 'got "https://b.test/app"; write https://b.test'],
    [{ origins: 'https://a.test?x' }, 'write https://a.test'],
    [{ origins: 'https://user:secret@a.test' }, 'write https://a.test'],
    [{ origins: 'a.test' }, 'got "a.test"; write https://a.test'],
    [{ origins: 'localhost:5173' }, 'got "localhost:5173"; write http://localhost:5173'],
    [{ origins: ['null'] }, 'got "null"'],
    [{ origins: 'https://' }, 'write its scheme and its name'],
    [
      { adminTokens: 'short,a token that is long enough' },
      'adminTokens: expected a list of texts of at least 16 characters each (`openssl rand -hex 16` makes one), or one text with commas, got a text of 5 characters',
    ],
    [{ leaseTokens: ['short'] }, /^leaseTokens: .*, got a text of 5 characters$/],
    [{ cookieSecrets: [5] }, /^cookieSecrets: .*, got an array$/],
    [{ channelSecret: null }, /^channelSecret: expected a text of at least 16 characters .*, got null$/],
    [{ channelSecret: 12345 }, /, got a number$/],
    [{ store: 5n }, /^store: .*, got a bigint$/],
    [{ ttl: Object.create(null) }, /^ttl: .*, got an object$/],
    [{ port: Symbol('x') }, /^port: .*, got Symbol\(x\)$/],
    [{ openTelemetry: true }, '`openTelemetry` (settings): this setting is now called `acceptTelemetry`'],
    [{ ttll: 1 }, '`ttll` (settings): unknown setting, did you mean `ttl`?'],
    [
      { ttl: '10s', heartbeat: '10s' },
      'heartbeat: expected at most 0.9 of the ttl of 10000 ms, got 10000 ms',
    ],
  ])('the settings refuse %# and say what was expected', (values, message) => {
    expect(() => settingsOf(values)).toThrow(message)
  })

  it('name all mistakes at once, and never show a secret', () => {
    const mistakes = () => settingsOf({ ttl: 'x', port: 'y', channelSecret: 'hush' })
    expect(mistakes).toThrow(LeaseError)
    expect(mistakes).toThrow(/port.*\nttl.*\nchannelSecret/s)
    expect(mistakes).not.toThrow(/hush/)
  })
})
