/** Drives the installed Firefox over WebDriver BiDi, the only protocol for an unchanged Firefox. */
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { firefoxPath, KeptProcess } from '../../scripts/services/index.ts'
import { treeOf } from '../../scripts/services/process-tree.ts'
import { eventually } from '../eventually.ts'

/** The extension of a test has this id in its manifest. Its pages then have this host. */
export const EXTENSION_ID = 'test@holdfast.invalid'
const EXTENSION_HOST = 'b7c2a1de-50f6-4f5e-9d0b-6f2f7c3f1a10'
export const EXTENSION_ORIGIN = `moz-extension://${EXTENSION_HOST}`

/** Nothing that asks the user or the network, and a new process for every tab, so that one of them can be killed. */
const PREFERENCES = {
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.ipc.processCount.webIsolated': 16,
  'dom.ipc.processPrelaunch.enabled': false,
  'extensions.installDistroAddons': false,
  'extensions.webextensions.uuids': JSON.stringify({ [EXTENSION_ID]: EXTENSION_HOST }),
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.enabled': false,
}

const FLAGS = ['--headless', '--no-remote', '--remote-debugging-port', '0', '--remote-allow-system-access']

export interface FirefoxPage {
  /** Evaluates an expression, also one with a promise. The value is passed as JSON. */
  evaluate(expression: string): Promise<unknown>
  close(): Promise<void>
  /** Ends the process of the page at once, as a crash would. */
  kill(): void
}

export interface Firefox extends AsyncDisposable {
  /** Opens a page. `prepare` runs in each of its documents, before their own scripts. */
  open(url: string, prepare?: () => unknown): Promise<FirefoxPage>
  /** Loads an unpacked extension with the id `EXTENSION_ID`. */
  install(directory: string): Promise<void>
}

/** A Firefox with a fresh profile, which goes when it is closed. */
export async function launchFirefox(): Promise<Firefox> {
  const kept = await KeptProcess.prepare('firefox')
  try {
    const profile = join(kept.directory, 'profile')
    await mkdir(profile)
    const lines = Object.entries(PREFERENCES).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
    )
    await writeFile(join(profile, 'user.js'), lines.join(''))
    const pid = await kept.start({
      file: await firefoxPath(),
      // System access allows opening the pages of an extension.
      args: [...FLAGS, '--profile', profile],
      env: { HOME: kept.directory },
      crashSignal: 'SIGKILL',
    })
    const send = await connect(await addressOf(kept))
    await send('session.new', { capabilities: {} })
    return {
      async open(url, prepare) {
        const before = tabProcesses(pid)
        const { context = '' } = (await send('browsingContext.create', { type: 'tab' })) as {
          context?: string
        }
        if (prepare)
          await send('script.addPreloadScript', { functionDeclaration: `${prepare}`, contexts: [context] })
        await send('browsingContext.navigate', { context, url, wait: 'complete' })
        const own = tabProcesses(pid).filter((process) => !before.includes(process))
        return pageOf(send, context, own)
      },
      async install(path) {
        await send('webExtension.install', { extensionData: { type: 'path', path } })
      },
      [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
    }
  } catch (error) {
    await kept[Symbol.asyncDispose]()
    throw error
  }
}

async function addressOf(kept: KeptProcess): Promise<string> {
  let address: string | undefined
  await eventually(async () => {
    const log = await readFile(join(kept.directory, 'server.log'), 'utf8')
    address = /WebDriver BiDi listening on (ws:\S+)/.exec(log)?.[1]
    if (!address) throw new Error(`Firefox does not listen: ${log}`)
  })
  return `${address}/session`
}

type Send = (method: string, params: object) => Promise<object>

interface Answer {
  readonly id?: number
  readonly type: 'success' | 'error' | 'event'
  readonly result: object
  readonly message?: string
}

async function connect(address: string): Promise<Send> {
  const socket = new WebSocket(address)
  const waiting = new Map<number, PromiseWithResolvers<object>>()
  let lastId = 0
  socket.on('message', (data) => {
    const { id = 0, type, result, message } = JSON.parse(String(data)) as Answer
    if (type === 'error') waiting.get(id)?.reject(new Error(message))
    else waiting.get(id)?.resolve(result)
    waiting.delete(id)
  })
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Firefox has ended'))
  })
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
  return (method, params) => {
    const answer = Promise.withResolvers<object>()
    waiting.set(++lastId, answer)
    socket.send(JSON.stringify({ id: lastId, method, params }))
    return answer.promise
  }
}

function pageOf(send: Send, context: string, processes: readonly number[]): FirefoxPage {
  return {
    async evaluate(expression) {
      const { type, result, exceptionDetails } = (await send('script.evaluate', {
        expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value))`,
        target: { context },
        awaitPromise: true,
      })) as Evaluated
      if (type === 'exception') throw new Error(exceptionDetails.text)
      return result.value === undefined ? undefined : JSON.parse(result.value)
    },
    async close() {
      await send('browsingContext.close', { context })
    },
    kill() {
      if (processes.length === 0) throw new Error('the process of this page is not known')
      for (const pid of processes) process.kill(pid, 'SIGKILL')
    },
  }
}

/** The processes in which Firefox runs the content of tabs. They are known only on Linux. */
function tabProcesses(firefox: number): number[] {
  if (process.platform !== 'linux') return []
  return treeOf(firefox).filter((pid) => {
    try {
      return /\btab\0*$/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
    } catch {
      // It has ended.
      return false
    }
  })
}

interface Evaluated {
  readonly type: 'success' | 'exception'
  readonly result: { readonly value?: string }
  readonly exceptionDetails: { readonly text: string }
}
