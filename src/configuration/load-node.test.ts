import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { loadSettings, settingFlags } from './load-node.ts'

const directory = mkdtempSync(join(tmpdir(), 'holdfast-configuration-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe('the configuration', () => {
  it('the configuration ignores what Kubernetes sets beside a service called holdfast', () => {
    const environment = { HOLDFAST_PORT: 'tcp://10.0.0.1:80', HOLDFAST_PORT_80_TCP: 'tcp://10.0.0.1:80' }
    expect(loadSettings({ environment }).port).toBe(4321)
  })

  it('the configuration takes a flag before the environment, that before the file, and that before the default', () => {
    const toml = file('order.toml', 'ttl = "40s"\ngrace = "1s"\nport = 1000\norigins = ["https://a.test"]\n')
    const settings = loadSettings({
      flags: { ttl: '20s' },
      environment: { HOLDFAST_TTL: '25s', HOLDFAST_GRACE: '2s', OTHER: 'x' },
      file: toml,
    })
    const { ttl, grace, port, origins, sweep } = settings
    expect([ttl, grace, port, origins, sweep]).toEqual([20_000, 2000, 1000, ['https://a.test'], 60_000])
  })

  it.each([
    ['a.json', '{"logLevel":"warn"}'],
    ['a.toml', 'logLevel = "warn"'],
    ['json.conf', '\n {"logLevel":"warn"}'],
    ['toml.conf', '# settings\nlogLevel = "warn"'],
    ['none', 'logLevel = "warn"'],
    ['mark.json', '\ufeff{"logLevel":"warn"}'],
    ['mark.toml', '\ufefflogLevel = "warn"'],
  ])('the configuration reads TOML and JSON, whatever the name of the file: %s', (name, text) => {
    expect(loadSettings({ environment: {}, file: file(name, text) }).logLevel).toBe('warn')
  })

  it('the configuration has a flag for every setting', () => {
    const { values } = parseArgs({
      args: ['--log-level', 'error', '--max-wait=5s'],
      options: { ...settingFlags() },
    })
    const { logLevel, maxWait } = loadSettings({ flags: values, environment: {} })
    expect([logLevel, maxWait]).toEqual(['error', 5000])
  })

  it.each([
    [{ flags: { 'log-level': 'loud' } }, '--log-level: expected one of debug, info'],
    [{ environment: { HOLDFAST_LOG_LEVEL: 'loud' } }, 'HOLDFAST_LOG_LEVEL: expected one of debug, info'],
    [
      { environment: { HOLDFAST_STROE: 'x' } },
      'HOLDFAST_STROE: unknown variable, did you mean HOLDFAST_STORE?',
    ],
    [
      { environment: { HOLDFAST_OPEN_TELEMETRY: 'true' } },
      'HOLDFAST_OPEN_TELEMETRY: this variable is now called HOLDFAST_ACCEPT_TELEMETRY',
    ],
    [{ flags: { 'open-telemetry': 'true' } }, '`acceptTelemetry`'],
    [
      { file: file('renamed.toml', 'openTelemetry = true') },
      'renamed.toml): this setting is now called `acceptTelemetry`',
    ],
    [{ file: file('bad.toml', 'ttl = "soon"') }, 'bad.toml): expected a duration'],
    [{ file: file('unknown.toml', 'tll = "30s"') }, 'unknown setting, did you mean `ttl`?'],
    [{ file: file('broken.toml', 'ttl = ') }, 'broken.toml cannot be used: Invalid TOML'],
    [{ file: file('broken.json', '{') }, 'broken.json cannot be used: '],
    [{ file: file('list.json', '[]') }, 'list.json cannot be used: expected an object'],
    [{ file: file('twice.toml', 'port = 1\nport = 2') }, 'twice.toml cannot be used: '],
    [{ file: directory }, 'cannot be used: EISDIR'],
    [{ file: join(directory, 'missing.toml') }, 'missing.toml cannot be used: there is no such file'],
  ])('the configuration refuses %j and says where it came from', (sources, message) => {
    expect(() => loadSettings({ environment: {}, ...sources })).toThrow(message)
  })
})

it('a configuration file that is not UTF-8 is refused', () => {
  const latin1 = file('latin1.toml', Buffer.from('appId = "\xfc"', 'latin1'))
  expect(() => loadSettings({ environment: {}, file: latin1 })).toThrow('latin1.toml cannot be used: ')
})

function file(name: string, text: string | Buffer): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}
