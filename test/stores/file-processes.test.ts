import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import type { Note, Order, Report } from './file/worker.ts'

const WORKERS = 4
const KILLS = 20
const STOPS = 5
const STUMBLES = 200

let parent: string
let workers: Set<ChildProcess>
let ends: Promise<unknown>[]
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-processes-'))
  workers = new Set()
  ends = []
  for (let n = 0; n < WORKERS; n++) hire()
})
afterEach(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await Promise.all(ends)
  rmSync(parent, { recursive: true })
})

function hire(): void {
  const script = join(import.meta.dirname, 'file', 'worker.ts')
  const name = `worker ${ends.length + 1}`
  const worker = fork(script, [join(parent, 'locks'), join(parent, 'log'), name])
  workers.add(worker)
  ends.push(once(worker, 'exit'))
}

function order(worker: ChildProcess, message: Order): void {
  worker.send(message)
}

async function reports(worker: ChildProcess, type: Report['type']): Promise<number> {
  for (;;) {
    const [report]: Report[] = await once(worker, 'message')
    if (report?.type === type) return report.token
  }
}

function anyWorker(): ChildProcess {
  const all = [...workers]
  const worker = all[Math.floor(Math.random() * all.length)]
  if (!worker) throw new Error('nobody is left')
  return worker
}

/** A worker that holds the lease, and keeps it. */
async function keeper(): Promise<{ worker: ChildProcess; token: number }> {
  const worker = anyWorker()
  order(worker, 'keep')
  return { worker, token: await reports(worker, 'keeps') }
}

async function dismissAll(): Promise<void> {
  await Promise.all(
    [...workers].map(async (worker) => {
      const exit = once(worker, 'exit')
      order(worker, 'finish')
      expect(await exit).toEqual([0, null])
    }),
  )
}

function notes(): Note[] {
  const lines = readFileSync(join(parent, 'log'), 'utf8').split('\n')
  return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line))
}

/** Ordered by token, the holds must not overlap in time, and each must belong to one worker. */
function expectOneHolderAtATime(leastHolds: number): void {
  const holds = Map.groupBy(notes(), (note) => note.token)
  const tokens = [...holds.keys()].sort((a, b) => a - b)
  let over = 0
  for (const token of tokens) {
    const hold = holds.get(token) ?? []
    expect(new Set(hold.map((note) => note.worker)).size, `workers with token ${token}`).toBe(1)
    expect(Math.min(...hold.map((note) => note.at)), `the start of ${token}`).toBeGreaterThan(over)
    over = Math.max(...hold.map((note) => note.at))
  }
  expect(tokens.length).toBeGreaterThanOrEqual(leastHolds)
}

describe('processes that contend for a lease in a directory', () => {
  it('processes that contend for a lease in a directory have one holder at a time while holders are killed', async () => {
    for (let n = 0; n < KILLS; n++) {
      const { worker } = await keeper()
      workers.delete(worker)
      worker.kill('SIGKILL')
      hire()
    }
    await dismissAll()
    expectOneHolderAtATime(KILLS)
  })

  it('processes that contend for a lease in a directory notice their loss after they were stopped, when another process holds the lease', async () => {
    for (let n = 0; n < STOPS; n++) {
      const { worker, token } = await keeper()
      worker.kill('SIGSTOP')
      await expect.poll(() => Math.max(...notes().map((note) => note.token))).toBeGreaterThan(token)
      const lost = reports(worker, 'lost')
      worker.kill('SIGCONT')
      expect(await lost).toBe(token)
    }
    await dismissAll()
    expectOneHolderAtATime(STOPS)
  })

  it('processes that contend for a lease in a directory have one holder at a time while all of them are stopped for moments', async () => {
    await eventually(() => expect(new Set(notes().map((note) => note.worker)).size).toBe(WORKERS))
    for (let n = 0; n < STUMBLES; n++) {
      const worker = anyWorker()
      worker.kill('SIGSTOP')
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 30))
      worker.kill('SIGCONT')
    }
    await dismissAll()
    expectOneHolderAtATime(WORKERS)
  })
})
