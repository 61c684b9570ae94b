import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadSettings, settingFlags } from '../../configuration/load-node.ts'
import { flagOf, SETTINGS, type SettingName } from '../../configuration/settings.ts'
import type { OnTelemetry } from '../../server/index.ts'
import { createServer, type HoldfastServer } from '../../server/node/index.ts'
import { receiveTelemetry, type Sink } from '../../telemetry/index.ts'
import { fileSink } from '../../telemetry/index-node.ts'
import { type Command, type Options, STORE_OPTIONS, settingOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usageFailure } from '../failure.ts'
import { nextSignal, signalExitCode } from '../signals.ts'
import { withoutPassword, withStore } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import type { Terminal } from '../terminal.ts'

/** The dashboard and the demo editor. They exist only after a build. */
const PAGES = join(import.meta.dirname, '../../web')

export const serve: Command = {
  usage: 'serve [options]',
  description: `Runs the document lock service: HTTP and WebSocket, with a dashboard and a demo editor. Every setting may also be
in the environment (HOLDFAST_PORT) or in the file. Contents, the audit trail, and secrets that are not set are where
the locks are. SIGTERM and Ctrl-C close the service after the
current requests; locks stay in the store.`,
  positionalCount: [0, 0],
  options: {
    ...serverOptions(),
    ...STORE_OPTIONS,
    telemetry: {
      type: 'string',
      value: '<folder>',
      help: 'where to write what pages post to /telemetry (default: it is refused)',
    },
  },
  examples: [
    { line: 'holdfast serve', text: 'on http://127.0.0.1:4321, with a SQLite file' },
    {
      line: 'holdfast serve --host 0.0.0.0 --port 8080 --config server.toml',
      text: 'for clients on other machines',
    },
    { line: 'holdfast serve --store postgres://app@db/app', text: 'one of several nodes' },
  ],

  async run({ settings, terminal }) {
    const names = Object.keys(settingFlags())
    const flags = Object.fromEntries(Object.entries(settings.flags).filter(([name]) => names.includes(name)))
    const { file } = settings
    // An empty secret is left out, so that the server generates one.
    const { channelSecret, ...others } = loadSettings({ flags, ...(file && { file }) })
    const serve = async ({ store, serverParts }: OpenedStore) => {
      if (!serverParts)
        throw usageFailure(
          `serve needs a store of its own; ${withoutPassword(others.store)} is another server`,
        )
      const { secretsFile = '', ...parts } = await serverParts()
      const folder = settings.text('telemetry')
      const telemetry = folder ? fileSink(folder) : undefined
      const running = await createServer({
        store,
        ...parts,
        settings: {
          ...others,
          secretsFile: others.secretsFile || secretsFile,
          ...(channelSecret && { channelSecret }),
        },
        ...(existsSync(PAGES) && { assets: PAGES }),
        ...(telemetry && { onTelemetry: writeTo(telemetry) }),
      }).catch(failToListen)
      const signalled = nextSignal('SIGINT', 'SIGTERM')
      if (settings.is('json')) printJson(terminal, running)
      else print(terminal, running)
      await signalled
      // A second signal does not wait for the requests that are under way.
      void nextSignal('SIGINT', 'SIGTERM').then((signal) => process.exit(signalExitCode(signal)))
      await running.close()
      return EXIT.ok
    }
    return withStore(others.store, serve, { isServed: true })
  },
}

function serverOptions(): Options {
  const names = Object.keys(SETTINGS) as SettingName[]
  const options = names.map((name) => {
    // The description says that every setting has a variable, so its help need not name it.
    const { setting: _, ...option } = settingOption(name)
    return [flagOf(name), option] as const
  })
  return Object.fromEntries(options)
}

function writeTo(sink: Sink): OnTelemetry {
  return async (events) => {
    const batch = receiveTelemetry({ events })
    if (!batch.ok) return 0
    await sink.write(batch.records)
    return batch.records.length
  }
}

function printJson(terminal: Terminal, { url, settings }: HoldfastServer): void {
  terminal.remark(`listening on ${url}`, {
    type: 'listening',
    url,
    store: withoutPassword(settings.store),
    pages: existsSync(PAGES) ? { editor: `${url}/`, dashboard: `${url}/dashboard` } : null,
  })
}

function print(terminal: Terminal, { url, settings }: HoldfastServer): void {
  terminal.remark(`listening on ${url}, locks in ${withoutPassword(settings.store)}`)
  if (existsSync(PAGES)) {
    const hint = settings.adminTokens.length > 0 ? '' : ', which needs --admin-tokens'
    terminal.remark(`the editor is at ${url}/, the dashboard at ${url}/dashboard${hint}`)
  }
}

/** A port that is in use is not a mistake in the usage. */
function failToListen(error: Error): never {
  const { code } = Object(error.cause) as NodeJS.ErrnoException
  throw code === 'EADDRINUSE' ? new Failure(EXIT.unavailable, error.message, { cause: error }) : error
}
