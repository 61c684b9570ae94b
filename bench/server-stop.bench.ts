/** From SIGTERM to the exit of `holdfast serve`: with nobody connected, and with 1 000 sockets and 200 long polls. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { printTable, quantile } from './measure.ts'
import { newSession } from './server/child.ts'
import { requestText, Wire } from './server/wire.ts'

const SOCKETS = 1000
const POLLS = 200
const ROOMS = 20
const ROUNDS = 5

export async function run(): Promise<void> {
  const idle: number[] = []
  const busy: number[] = []
  const ends = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++) {
    idle.push(await stopTime(async () => {}))
    busy.push(await stopTime((port) => connectAll(port, ends)))
  }
  const ms = (times: number[], q: number) => quantile(times, q).toFixed(0)
  printTable(`Server, from SIGTERM to its exit, ${ROUNDS} rounds`, [
    ['', 'median, ms', 'longest, ms'],
    ['nobody connected', ms(idle, 0.5), ms(idle, 1)],
    [`${SOCKETS} sockets and ${POLLS} long polls`, ms(busy, 0.5), ms(busy, 1)],
  ])
  console.log([...ends].map(([end, count]) => `${end}: ${count}`).join(', '))
}

async function stopTime(connectClients: (port: number) => Promise<void>): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const { server, port } = await serve(directory)
  await connectClients(port)
  const exited = once(server, 'exit')
  const startedAt = performance.now()
  server.kill('SIGTERM')
  const [code] = await exited
  const ms = performance.now() - startedAt
  if (code !== 0) throw new Error(`the server exited with ${code}`)
  rmSync(directory, { recursive: true })
  return ms
}

async function serve(directory: string): Promise<{ server: ChildProcess; port: number }> {
  const main = join(import.meta.dirname, '../src/cli/main.ts')
  const args = [
    'serve',
    '--port',
    '0',
    '--store',
    `sqlite:${join(directory, 'holdfast.db')}`,
    '--log-level',
    'error',
  ]
  const server = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const text of server.stderr) {
    const [, port] = /listening on http:\/\/[\d.]+:(\d+)/.exec(String(text)) ?? []
    if (port) return { server, port: Number(port) }
  }
  throw new Error('the server did not start')
}

/** Every socket is in a room, and every poll waits for a lock that another has. Counts how each of them ends. */
async function connectAll(port: number, ends: Map<string, number>): Promise<void> {
  const count = (end: string) => ends.set(end, (ends.get(end) ?? 0) + 1)
  await Promise.all(
    Array.from({ length: SOCKETS }, async (_, n) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/app/holdfast?protocol=7`)
      socket.on('close', (code) => count(`socket closed with ${code}`))
      await once(socket, 'message')
      const data = { channel: `document.room-${n % ROOMS}` }
      socket.send(JSON.stringify({ event: 'pusher:subscribe', data }))
      await once(socket, 'message')
    }),
  )
  const [holder, waiter] = await Promise.all([newSession(port), newSession(port)])
  const wire = await Wire.open(port)
  for (let room = 0; room < ROOMS; room++)
    await wire.send(requestText('POST', `/api/documents/room-${room}/lock`, { Cookie: holder }))
  wire.close()
  for (let n = 0; n < POLLS; n++) {
    const poll = await Wire.open(port)
    const headers = { Cookie: waiter, 'X-Holdfast-Client': `tab-${n}` }
    const text = requestText('POST', `/api/documents/room-${n % ROOMS}/lock?wait=60`, headers)
    void poll.send(text).then((status) => count(`poll answered with ${status}`))
  }
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  while (!new RegExp(`^holdfast_waiters ${POLLS}$`, 'm').test(await metrics()));
}
