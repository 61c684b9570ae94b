/**
 * One manager holds thousands of leases while the server, or its own process, is stopped by SIGSTOP for a while. None may
 * be lost if the TTL is longer than the pause. `--most 10000` leases, `--pause 6.5` seconds, `--stops client`.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type ServerName, startServer } from '../scripts/services/index.ts'
import { startHoldfast, TOKEN } from './holdfast-server.ts'
import { printTable } from './measure.ts'
import type { Held, Outcome } from './pause/process.ts'
import type { BenchFlags } from './run.ts'

interface Subject {
  readonly address: string
  /** Absent: there is no server to stop. */
  readonly server?: { freeze(): void; thaw(): void }
  stop(): unknown
}

const SUBJECTS: Readonly<Record<string, () => Promise<Subject>>> = {
  memory: async () => ({ address: 'memory:', stop() {} }),
  sqlite: () => inDirectory((directory) => `sqlite:${join(directory, 'leases.db')}`),
  file: () => inDirectory((directory) => pathToFileURL(directory).href),
  redis: () => onServer('redis'),
  postgres: () => onServer('postgres'),
  mysql: () => onServer('mysql'),
  nats: () => onServer('nats'),
  etcd: () => onServer('etcd'),
  firestore: () => onServer('firestore', 'firestore://'),
  async http() {
    const { url, pid, stop } = await startHoldfast()
    const server = {
      freeze: () => void process.kill(pid, 'SIGSTOP'),
      thaw: () => void process.kill(pid, 'SIGCONT'),
    }
    return { address: url.replace('://', `://${TOKEN}@`), server, stop }
  },
}

export async function run({
  stores,
  most = '10000',
  pause = '6.5',
  stops = 'server',
}: BenchFlags): Promise<void> {
  const rows: string[][] = []
  for (const name of stores?.split(',') ?? Object.keys(SUBJECTS)) {
    const subject = await SUBJECTS[name]?.()
    if (!subject) throw new Error(`no store ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
    const { address, server, stop } = subject
    try {
      if (!server && stops === 'server') continue
      console.log(`  ${name} …`)
      rows.push([
        name,
        ...(await holdThrough(Number(pause) * 1000, address, most, stops === 'server' && server)),
      ])
    } finally {
      await stop()
    }
  }
  const head = [
    '',
    'acquired, s',
    'lost',
    'failed renewals',
    'late, s',
    'MB before',
    'MB at most',
    'CPU s, idle',
    'CPU s',
  ]
  printTable(`${most} leases of one manager, TTL 30 s, the ${stops} stopped for ${pause} s`, [head, ...rows])
}

/** `server`: what is stopped; `false`: the process of the manager. */
async function holdThrough(
  pauseMs: number,
  address: string,
  count: string,
  server: Subject['server'] | false | undefined,
): Promise<string[]> {
  const child = fork(join(import.meta.dirname, 'pause/process.ts'), [address, count])
  const { acquireMs } = await next<Held>(child)
  if (server) server.freeze()
  else child.kill('SIGSTOP')
  await sleep(pauseMs)
  if (server) server.thaw()
  else child.kill('SIGCONT')
  child.send('over')
  const { lost, failed, lateMs, megabytesBefore, megabytes, idleSeconds, seconds } =
    await next<Outcome>(child)
  return [
    (acquireMs / 1000).toFixed(1),
    String(lost),
    String(failed),
    lateMs === null ? '–' : (lateMs / 1000).toFixed(1),
    megabytesBefore.toFixed(0),
    megabytes.toFixed(0),
    idleSeconds.toFixed(1),
    seconds.toFixed(1),
  ]
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the process of the manager ended without a result'))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message as T)
    })
  })
}

async function inDirectory(address: (directory: string) => string): Promise<Subject> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-pause-'))
  return { address: address(directory), stop: () => rmSync(directory, { recursive: true }) }
}

async function onServer(name: ServerName, scheme = ''): Promise<Subject> {
  const server = await startServer(name)
  return { address: scheme + server.address, server, stop: () => server.stop() }
}
