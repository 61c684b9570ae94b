/** Stores for a manager in a process of its own: by URLs, with servers that can be stopped. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ServerName, startServer } from '../../scripts/services/index.ts'
import { cpuSecondsOf } from '../../scripts/services/process-tree.ts'
import { startHoldfast, TOKEN } from '../holdfast-server.ts'

export interface Subject {
  readonly address: string
  /** Absent: there is no server to stop. */
  readonly server?: { freeze(): void; thaw(): void; cpuSeconds(): number }
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
      cpuSeconds: () => cpuSecondsOf(pid),
    }
    return { address: url.replace('://', `://${TOKEN}@`), server, stop }
  },
}

/** Those of the flag `--stores`; all if it is absent. */
export async function* openSubjects(stores: string | undefined): AsyncGenerator<[string, Subject]> {
  for (const name of stores?.split(',') ?? Object.keys(SUBJECTS)) {
    const subject = await SUBJECTS[name]?.()
    if (!subject) throw new Error(`no store ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
    try {
      yield [name, subject]
    } finally {
      await subject.stop()
    }
  }
}

/** The next message of the process. */
export function next<T>(child: ChildProcess): Promise<T> {
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
