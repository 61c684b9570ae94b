/** The settings of a server: from files that people edit, and from the environment. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '../../../src/configuration/load-node.ts'
import { SETTINGS, type Settings, settingsOf } from '../../../src/configuration/settings.ts'
import { type Target, verdictOf } from '../target.ts'

const values = {
  port: 8080,
  ttl: '30s',
  heartbeat: '10s',
  store: 'redis://localhost:6379',
  origins: ['https://app.example.com'],
  trustProxy: ['10.0.0.0/8'],
  adminTokens: ['a-token-of-the-tests-1'],
  logLevel: 'warn',
  acceptTelemetry: true,
}
const toml = `# of the tests
port = 8080
ttl = "1m"
heartbeat = 10_000
origins = ["https://app.example.com", 'http://localhost:5173']
trustProxy = 2
logRooms = false
cookieName = """a"""
`

export const settings: Target = {
  corpus: [
    { kind: 'json', text: JSON.stringify(values) },
    { kind: 'json', text: '{}' },
    { kind: 'toml', text: toml },
    { kind: 'conf', text: toml },
    { kind: 'conf', text: JSON.stringify(values) },
  ],
  open() {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
    return {
      feed({ kind = '', text = '' }) {
        const file = join(folder, `holdfast.${kind}`)
        writeFileSync(file, text)
        return verdictOf(() => expectSettings(loadSettings({ file, environment: {} })))
      },
      close: async () => rmSync(folder, { recursive: true }),
    }
  },
}

export const environment: Target = {
  corpus: [
    {
      HOLDFAST_TTL: '30s',
      HOLDFAST_PORT: '8080',
      HOLDFAST_ORIGINS: 'https://app.example.com, http://localhost:5173',
      HOLDFAST_TRUST_PROXY: '10.0.0.0/8, ::1',
      HOLDFAST_ADMIN_TOKENS: 'a-token-of-the-tests-1,a-token-of-the-tests-2',
      HOLDFAST_ACCEPT_TELEMETRY: 'true',
    },
    {
      HOLDFAST_STORE: 'postgres://app:secret@localhost/app',
      HOLDFAST_LOG_LEVEL: 'debug',
      HOLDFAST_MAX_BODY: '65536',
    },
    { HOLDFAST_PORT: 'tcp://10.0.0.1:80', HOLDFAST_TRUST_PROXY: 'false', HOLDFAST_COOKIE_SECURE: 'always' },
  ],
  open: () => ({
    feed: (input) => verdictOf(() => expectSettings(loadSettings({ environment: input }))),
  }),
}

/** Each is accepted again, as code would give it. */
function expectSettings(found: Settings): void {
  for (const name of Object.keys(SETTINGS)) {
    const given = Object.entries(found).find(([key]) => key === name)?.[1]
    if (given === undefined) throw new TypeError(`${name} has no value`)
    if (
      typeof given !== typeof Object.entries(SETTINGS).find(([key]) => key === name)?.[1].default &&
      name !== 'trustProxy'
    )
      throw new TypeError(`${name} is ${typeof given}`)
  }
  settingsOf(found)
}
