import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { loadSettings, settingFlags } from '../../configuration/load-node.ts'
import { flagOf, SETTINGS, type SettingName } from '../../configuration/settings.ts'
import type { OnTelemetry } from '../../server/index.ts'
import { createServer, type HoldfastServer } from '../../server/node/index.ts'
import { receiveTelemetry, type Sink } from '../../telemetry/index.ts'
import { fileSink } from '../../telemetry/index-node.ts'
import { type Command, type Options, STORE_OPTIONS, settingOption } from '../command.ts'
import { EXIT, SIGNAL_BASE } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { withoutPassword, withStore } from '../stores/index.ts'
import type { OpenedStore, ServerParts } from '../stores/opened-store.ts'
import type { Terminal } from '../terminal.ts'

/** The dashboard and the demo editor, where they were built. */
const PAGES = join(import.meta.dirname, '../../web')

export const serve: Command = {
  usage: 'serve [options]',
  about: `Runs the document lock service: HTTP and WebSocket, with a dashboard and a demo editor. Every setting may also be
in the environment (HOLDFAST_PORT) or in the file. Contents and the audit trail are kept with the locks on SQLite
and Postgres, and elsewhere in memory. SIGTERM and Ctrl-C stop it in order; locks live on.`,
  takes: [0, 0],
  options: {
    ...serverOptions(),
    ...STORE_OPTIONS,
    telemetry: {
      type: 'string',
      value: '<folder>',
      help: 'keep what pages post to /telemetry there (default: refused)',
    },
  },
  examples: [
    { line: 'holdfast serve', does: 'on http://127.0.0.1:4321, with a SQLite file' },
    { line: 'holdfast serve --host 0.0.0.0 --port 8080 --config server.toml', does: 'for others' },
    { line: 'holdfast serve --store postgres://app@db/app', does: 'one of several nodes' },
  ],

  async run({ settings, terminal }) {
    const names = Object.keys(settingFlags())
    const flags = Object.fromEntries(Object.entries(settings.flags).filter(([name]) => names.includes(name)))
    const { file } = settings
    // An empty secret is none: the server makes one.
    const { channelSecret, ...others } = loadSettings({ flags, ...(file && { file }) })
    const serve = async ({ store, serverParts }: OpenedStore) => {
      const { secretsFile = '', ...parts } = (await serverParts?.()) ?? {}
      const folder = settings.text('telemetry')
      const telemetry = folder ? fileSink(folder) : undefined
      const running = await createServer({
        ...{ store, ...parts },
        settings: {
          ...others,
          secretsFile: others.secretsFile || secretsFile,
          ...(channelSecret && { channelSecret }),
        },
        ...(existsSync(PAGES) && { assets: PAGES }),
        ...(telemetry && { onTelemetry: keepIn(telemetry) }),
      }).catch(refuse)
      const ended = signalled()
      if (settings.is('json')) tellPrograms(terminal, running, parts)
      else tell(terminal, running, parts)
      const code = await ended
      await running.stop()
      return code
    }
    return withStore(others.store, serve, { isServed: true })
  },
}

function serverOptions(): Options {
  const names = Object.keys(SETTINGS) as SettingName[]
  const options = names.map((name) => {
    // The text above says that every one of them has a variable.
    const { setting: _, ...option } = settingOption(name)
    return [flagOf(name), option] as const
  })
  return Object.fromEntries(options)
}

function keepIn(files: Sink): OnTelemetry {
  return (events) => {
    const batch = receiveTelemetry({ events })
    return batch.ok ? files.write(batch.records) : undefined
  }
}

function tellPrograms(
  terminal: Terminal,
  { url, settings }: HoldfastServer,
  { documents }: ServerParts,
): void {
  terminal.remark(`listening on ${url}`, {
    type: 'listening',
    url,
    store: withoutPassword(settings.store),
    pages: existsSync(PAGES) ? { editor: `${url}/`, dashboard: `${url}/dashboard` } : null,
    contents: documents ? 'store' : 'memory',
  })
}

function tell(terminal: Terminal, { url, settings }: HoldfastServer, { documents }: ServerParts): void {
  terminal.remark(`listening on ${url}, locks in ${withoutPassword(settings.store)}`)
  if (existsSync(PAGES)) {
    const hint = settings.adminTokens.length > 0 ? '' : ', which needs --admin-tokens'
    terminal.remark(`the editor is at ${url}/, the dashboard at ${url}/dashboard${hint}`)
  }
  if (!documents)
    terminal.remark(
      'contents are kept in memory and end with this process; a sqlite: or postgres: store keeps them',
    )
}

function refuse(error: Error): never {
  const { code } = Object(error.cause) as NodeJS.ErrnoException
  throw code === 'EADDRINUSE' ? new Failure(EXIT.unavailable, error.message, { cause: error }) : error
}

/** The second signal does not wait for the order of the first. */
function signalled(): Promise<number> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const code = SIGNAL_BASE + constants.signals[signal]
      process.once(signal, () => {
        process.once(signal, () => process.exit(code))
        resolve(EXIT.ok)
      })
    }
  })
}
