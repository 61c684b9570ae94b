import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  cuttableProxy,
  describeLifetime,
  describeTorture,
  type Observation,
  violations,
} from 'holdfast/testing/node'
import { runner, runSuite, withGlobals } from './suite.ts'

/** Real processes on a server, the referee and the proxy, as docs/testing.md uses them. */
export async function processesCase(): Promise<void> {
  judges()
  await cutsConnections()
  process.env.LOCKS_TOKEN = 'a-token-of-at-least-thirty-two-characters'
  await using server = new Server()
  await server.start()
  await tortures(server)
}

function judges(): void {
  const log: Observation[] = [
    { at: 1000, worker: 'one', resource: 'r' },
    { at: 2000, worker: 'one', resource: 'r', token: 1, share: 1 },
    { at: 3000, worker: 'two', resource: 'r' },
    { at: 4000, worker: 'two', resource: 'r', place: 0 },
    { at: 5000, worker: 'one', resource: 'r', token: 1, share: 1 },
    { at: 6000, worker: 'two', resource: 'r', token: 2, share: 1 },
  ]
  const killed = new Set<string>()
  const expectations = { longestWaitMs: 100, killed, queueWithinMs: 500 }
  assert.deepEqual(violations(log, expectations), [])
  assert.equal(
    violations([...log, { at: 7000, worker: 'one', resource: 'r', token: 1 }], expectations).length,
    1,
  )
}

async function cutsConnections(): Promise<void> {
  const server = createServer((socket) => socket.on('error', () => {}).end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert(address instanceof Object)
  {
    await using proxy = await cuttableProxy('127.0.0.1', address.port)
    const ask = () => textFrom(proxy.address)
    assert.equal(await ask(), 'hello')
    proxy.cut()
    assert.equal(await ask(), '')
    proxy.mend()
    assert.equal(await ask(), 'hello')
  }
  server.close()
}

/** What a server says before it ends the connection; nothing if the connection broke. */
async function textFrom(address: string): Promise<string> {
  const { hostname, port } = new URL(`tcp://${address}`)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  socket.on('error', () => {})
  await once(socket, 'close')
  return text
}

/** Fewer of everything, for a quick look. */
function tortures(server: Server): Promise<void> {
  const lines: string[] = []
  const module = new URL('./open-store.ts', import.meta.url)
  const address = () => server.url
  const few = { workers: 2, kills: 2, stops: 2, restarts: 1 }
  return runSuite('processes', () => {
    withGlobals(() => describeLifetime('http', { module, address }))
    describeLifetime('http', { module: fileURLToPath(module), address, ttl: '1s', runner })
    describeTorture('http', {
      ...{ runner, module, address, ttl: 500, supports: { queue: true, share: true }, ...few },
      freeze: () => server.freeze(),
      restart: () => server.restart(),
      log: (line) => lines.push(line),
    })
  }).then(() => assert.equal(lines.length, 5))
}

/** A process of its own, so that it can be stopped and killed. It keeps its data and its port. */
class Server implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'holdfast-surface-'))
  #process: ChildProcess | undefined
  #port = '0'

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    const program = fileURLToPath(new URL('./lease-server.ts', import.meta.url))
    const args = [program, join(this.#directory, 'leases.db'), this.#port]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#process = child
    const [line] = await once(child.stdout, 'data')
    this.#port = String(line).trim()
  }

  freeze(): () => void {
    this.#process?.kill('SIGSTOP')
    return () => void this.#process?.kill('SIGCONT')
  }

  async restart(): Promise<void> {
    await this.#kill()
    await this.start()
  }

  async #kill(): Promise<void> {
    if (!this.#process) return
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill()
    rmSync(this.#directory, { recursive: true })
  }
}
