/**
 * What is done to workers that contend for leases. Each step waits for a worker to say what it does, and never
 * for time to pass: a worker that has just said that it holds is killed, stopped or told to let go.
 */
import { STUCK_MS } from '../options.ts'
import type { Crew, Holder, Worker } from './crew.ts'
import { now } from './observation.ts'

export async function handOver(crew: Crew, resource: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) crew.release(await crew.holder(resource))
}

export async function killHoldersAndWaiters(crew: Crew, resource: string, kills: number): Promise<void> {
  for (let n = 0; n < kills; n++) {
    await handOver(crew, resource, 2)
    crew.replace(n % 2 === 0 ? (await crew.holder(resource)).worker : await crew.waiter(resource))
  }
  await handOver(crew, resource, 4)
}

/** Returns those who could write with their old token though the resource had seen a newer one. */
export async function stopHolders(crew: Crew, resource: string, stops: number): Promise<string[]> {
  const breaches: string[] = []
  for (let n = 0; n < stops; n++) {
    await handOver(crew, resource, 2)
    const { worker, token } = await crew.holder(resource)
    const successor = await whileStopped(crew, worker, () => crew.holder(resource, token))
    await crew.until(`${worker.name} sees its loss`, () => worker.losses.has(token))
    // The successor has written before it said that it holds.
    worker.order({ type: 'write', token })
    const write = await crew.until(`${worker.name} tries to write`, () => worker.writes.get(token))
    if (write.accepted) breaches.push(`${worker.name} with token ${token}`)
    crew.release(successor)
  }
  await handOver(crew, resource, 4)
  return breaches
}

/** A worker that was stopped within a transaction of SQLite locks out all others until it goes on. */
async function whileStopped<T>(crew: Crew, worker: Worker, work: () => Promise<T>): Promise<T> {
  worker.stop()
  const stuck = setTimeout(() => worker.goOn(), STUCK_MS + 5 * crew.ttl)
  const result = await work().finally(() => clearTimeout(stuck))
  worker.goOn()
  return result
}

/** Hands over until the server is back from its crash, and for a while after it. */
export async function handOverUntil(crew: Crew, resource: string, isBack: () => boolean): Promise<void> {
  while (!isBack()) await handOver(crew, resource, 1)
  await handOver(crew, resource, 5)
}

/** Freezes the server until all holders have seen their loss. Returns who they were, and when it was frozen. */
export async function freezeUntilLost(
  crew: Crew,
  resources: readonly string[],
  freeze: () => () => unknown,
): Promise<{ holders: Holder[]; frozenAt: number }> {
  const holders = await Promise.all(resources.map((resource) => crew.holder(resource)))
  const thaw = freeze()
  const frozenAt = now()
  try {
    for (const { worker, token } of holders)
      await crew.until(`${worker.name} sees its loss`, () => worker.losses.has(token))
  } finally {
    await thaw()
  }
  return { holders, frozenAt }
}
