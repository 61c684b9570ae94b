import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { redactAddress } from '../../base/redact.ts'
import { loadSettings, settingFlags } from '../../configuration/load-node.ts'
import { flagOf, SETTINGS, type SettingName } from '../../configuration/settings.ts'
import { checkDependencies, jsonLog, type OnTelemetry } from '../../server/index.ts'
import { createServer, type HoldfastServer } from '../../server/node/index.ts'
import { Listener } from '../../server/node/listener.ts'
import { receiveTelemetry, type Sink } from '../../telemetry/index.ts'
import { fileSink } from '../../telemetry/index-node.ts'
import { type Command, type Options, STORE_OPTIONS, settingOption, valueOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { asFailure, Failure, usageFailure } from '../failure.ts'
import { formatDuration } from '../format-duration.ts'
import { nextSignal, signalExitCode } from '../signals.ts'
import { checkAddress } from '../stores/check-address.ts'
import { storeAddress, untilReached, withStore } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import type { Terminal } from '../terminal.ts'

/** The dashboard and the demo editor. They exist only after a build. */
const PAGES = join(import.meta.dirname, '../../web')

export const serve: Command = {
  usage: 'serve [options]',
  description: `Runs the document lock service: HTTP and WebSocket, with a dashboard and a demo editor. Every setting may also be
in the environment (HOLDFAST_PORT) or in the file. Contents, the audit trail, and secrets that are not set are where
the locks are. SIGTERM and Ctrl-C close the service after the current requests; locks stay in the store.`,
  positionalCount: [0, 0],
  options: {
    ...serverOptions(),
    ...STORE_OPTIONS,
    telemetry: valueOption(
      '<folder>',
      'where to write what pages post to /telemetry (default: it is refused)',
    ),
  },
  examples: [
    ['holdfast serve', 'on http://127.0.0.1:4321, with a SQLite file'],
    ['holdfast serve --host 0.0.0.0 --port 8080 --config server.toml', 'for clients on other machines'],
    ['holdfast serve --store postgres://app@db/app', 'one of several nodes'],
  ],

  async run({ settings, terminal }) {
    const names = Object.keys(settingFlags())
    const flags = Object.fromEntries(Object.entries(settings.flags).filter(([name]) => names.includes(name)))
    const { file } = settings
    // An empty secret is left out, so that the server generates one.
    const { channelSecret, ...others } = loadSettings({ flags, ...(file && { file }) })
    // Before the port is opened.
    const address = storeAddress(settings, others.store)
    checkAddress(address)
    const shown = redactAddress(address)
    terminal.outliveReader()
    const signalled = new AbortController()
    const stopped = nextSignal('SIGINT', 'SIGTERM').then(() => signalled.abort())
    const log = jsonLog((line) => console.log(line), others.logLevel, systemClock)
    const listener = new Listener({ ...others, channelSecret }, log)
    await listener.listen().catch(failToListen)
    const giveUpAt = performance.now() + others.startWithin
    const start = {
      isServed: true,
      get retryFor() {
        return giveUpAt - performance.now()
      },
      signal: signalled.signal,
      onRetry: ({ message }: Error) =>
        terminal.remark(`${message}; trying for ${formatDuration(others.startWithin)}, /readyz answers 503`),
    }
    let isRunning = false
    const serve = async ({ store, serverParts }: OpenedStore) => {
      if (!serverParts) throw usageFailure(`serve needs a store of its own; ${shown} is another server`)
      const { secretsFile = '', ...parts } = await serverParts()
      await untilReached(start, async () => {
        const [failure] = await checkDependencies({ store, ...parts })
        if (failure) throw asFailure(failure.error, `${shown}, ${failure.name}`)
      })
      const folder = settings.text('telemetry')
      const telemetry = folder ? fileSink(folder) : undefined
      const running = await createServer(
        {
          store,
          ...parts,
          log,
          settings: {
            ...others,
            secretsFile: others.secretsFile || secretsFile,
            ...(channelSecret && { channelSecret }),
          },
          ...(existsSync(PAGES) && { assets: PAGES }),
          ...(telemetry && { onTelemetry: writeTo(telemetry) }),
        },
        listener,
      )
      isRunning = true
      if (settings.is('json')) printJson(terminal, running)
      else print(terminal, running)
      await stopped
      // A second signal does not wait for the requests that are under way.
      void nextSignal('SIGINT', 'SIGTERM').then((signal) => process.exit(signalExitCode(signal)))
      await running.close()
      return EXIT.ok
    }
    try {
      return await withStore(address, serve, start)
    } catch (error) {
      // It was asked to stop before it could start.
      if (signalled.signal.aborted && !isRunning) return EXIT.ok
      throw error
    }
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
    store: redactAddress(settings.store),
    origins: settings.origins,
    pages: existsSync(PAGES) ? { editor: `${url}/`, dashboard: `${url}/dashboard` } : null,
  })
}

function print(terminal: Terminal, { url, settings }: HoldfastServer): void {
  terminal.remark(`listening on ${url}, locks in ${redactAddress(settings.store)}`)
  if (existsSync(PAGES)) {
    const hint = settings.adminTokens.length > 0 ? '' : ', which needs --admin-tokens'
    terminal.remark(`the editor is at ${url}/, the dashboard at ${url}/dashboard${hint}`)
  }
  if (settings.origins.length > 0)
    terminal.remark(`pages of these other origins may call: ${settings.origins.join(', ')}`)
}

/** A port that is in use is not a mistake in the usage. */
function failToListen(error: Error): never {
  const { code } = Object(error.cause) as NodeJS.ErrnoException
  throw code === 'EADDRINUSE' ? new Failure(EXIT.unavailable, error.message, { cause: error }) : error
}
