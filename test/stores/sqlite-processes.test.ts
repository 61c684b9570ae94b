/** Behaviour that needs real processes. The torture test also kills them. */
import { type ChildProcess, fork } from 'node:child_process'
import { on, once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asking, grab } from './asking.ts'
import { DatabaseFile } from './sqlite/database-file.ts'
import type { WorkerMessage, WorkerOrder } from './sqlite/worker.ts'

const HANDOFFS = 20

describe('processes that share a file', () => {
  let file: DatabaseFile
  let workers: Worker[]
  beforeEach(async () => {
    file = new DatabaseFile()
    workers = Array.from({ length: 4 }, () => new Worker(file.path))
    await Promise.all(workers.map((worker) => worker.next('started')))
  })
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    await file[Symbol.asyncDispose]()
  })

  it('create its tables at the same time', async () => {
    const tables = Array.from({ length: 50 }, (_, n) => `leases_${n}`)
    await Promise.all(workers.map((worker) => worker.order({ do: 'open', tables })))
    for (const table of tables) expect(file.count(`${table}_meta`)).toBe(1)
  })

  it('wake each other', async () => {
    const [one, other] = workers as [Worker, Worker]
    const tookMs: number[] = []
    await one.order({ do: 'acquire', resource: 'shared' })
    for (let n = 0; n < HANDOFFS; n++) {
      const [holder, waiter] = n % 2 ? [other, one] : [one, other]
      const woken = waiter.order({ do: 'acquire', resource: 'shared' })
      await untilWaiting(file)
      const released = performance.timeOrigin + performance.now()
      await holder.order({ do: 'release', resource: 'shared' })
      tookMs.push((await woken).at - released)
    }
    tookMs.sort((a, b) => a - b)
    console.log(`sqlite: handoff between processes ${tookMs[HANDOFFS / 2]?.toFixed(1)} ms p50`)
  })

  it('processes that share a file lose all places in the queue at once when they are killed', async () => {
    const store = file.store()
    const { id } = await grab(store, 'shared')
    const dying = workers.slice(0, 3)
    for (const [n, worker] of dying.entries()) {
      // It never gets the lease, so there is no message to wait for.
      worker.send({ do: 'acquire', resource: 'shared' })
      await expect.poll(() => queueOf(file)).toBe(n + 1)
    }
    const next = asking('shared', { wake: () => {} })
    expect(await store.acquire(next)).toMatchObject({ granted: false, place: 3 })
    await Promise.all(dying.map((worker) => worker.kill()))
    // A process that was just seen alive is not checked again for 50 ms.
    await new Promise((resolve) => setTimeout(resolve, 60))
    await store.release({ resource: 'shared', id })
    expect(await store.acquire(next)).toMatchObject({ granted: true })
  })

  it('processes that share a file tell a holder that another process ended its lease', async () => {
    const [holder] = workers as [Worker]
    await holder.order({ do: 'acquire', resource: 'ended' })
    const store = file.store()
    const [[lease] = []] = await store.read(['ended'])
    await store.release({ resource: 'ended', token: lease?.token ?? 0 })
    expect(await holder.next('lost')).toMatchObject({ why: 'ended' })
  })
})

const DONE = { open: 'opened', acquire: 'acquired', release: 'released' } as const

class Worker {
  readonly #process: ChildProcess
  readonly #end: Promise<unknown>
  readonly #messages: AsyncIterator<unknown[], undefined>

  constructor(path: string) {
    this.#process = fork(join(import.meta.dirname, 'sqlite/worker.ts'), [path], { execArgv: [] })
    this.#end = once(this.#process, 'exit')
    this.#messages = on(this.#process, 'message')
  }

  send(order: WorkerOrder): void {
    this.#process.send(order)
  }

  order(order: WorkerOrder): Promise<WorkerMessage> {
    this.send(order)
    return this.next(DONE[order.do])
  }

  async next(has: WorkerMessage['has']): Promise<WorkerMessage> {
    const { value } = await this.#messages.next()
    const [message] = value as [WorkerMessage]
    expect(message).toMatchObject({ has })
    return message
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#end
  }
}

async function untilWaiting(file: DatabaseFile): Promise<void> {
  while (file.count('holdfast_leases WHERE line IS NOT NULL') === 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
}

function queueOf(file: DatabaseFile): number {
  return file.count('holdfast_leases_waiters')
}
