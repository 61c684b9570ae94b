/**
 * What is done to workers that contend for leases. Each step waits for a worker to say what it does, and never
 * for time to pass: whoever has just said that it holds is killed, stopped or told to let go.
 */
import type { Server } from '../../scripts/services/index.ts'
import type { Crew } from './crew.ts'
import { now } from './observation.ts'

export async function handOver(crew: Crew, resource: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) crew.release(await crew.holder(resource))
}

export async function killHoldersAndWaiters(crew: Crew, resource: string, kills: number): Promise<void> {
  for (let n = 0; n < kills; n++) {
    await handOver(crew, resource, 2)
    crew.replace(await (n % 2 === 0 ? crew.holder(resource) : crew.waiter(resource)))
  }
  await handOver(crew, resource, 4)
}

/** Returns those who could write with their old token though the resource had seen a newer one. */
export async function stopHolders(crew: Crew, resource: string, stops: number): Promise<string[]> {
  const breaches: string[] = []
  for (let n = 0; n < stops; n++) {
    await handOver(crew, resource, 2)
    const holder = await crew.holder(resource)
    const token = holder.holding?.token
    holder.signal('SIGSTOP')
    const successor = await crew.holder(resource, token)
    const takenAt = successor.holding?.at ?? 0
    holder.signal('SIGCONT')
    const { lateWrite } = await crew.until(`${holder.name} sees its loss`, () =>
      holder.losses.find((loss) => loss.token === token),
    )
    if (lateWrite.accepted && lateWrite.at > takenAt) breaches.push(`${holder.name} with token ${token}`)
    crew.release(successor)
  }
  await handOver(crew, resource, 4)
  return breaches
}

/** Hands over until the server is back from its crash, and for a while after it. */
export async function handOverUntil(crew: Crew, resource: string, isBack: () => boolean): Promise<void> {
  while (!isBack()) await handOver(crew, resource, 1)
  await handOver(crew, resource, 5)
}

/** Freezes the server until both holders have seen their loss. Returns their tokens, and when it was frozen. */
export async function freezeUntilLost(
  crew: Crew,
  resources: readonly string[],
  server: Pick<Server, 'freeze' | 'thaw'>,
): Promise<{ tokens: number[]; frozenAt: number }> {
  const holders = await Promise.all(resources.map((resource) => crew.holder(resource)))
  const tokens = holders.map((holder) => holder.holding?.token ?? 0)
  server.freeze()
  const frozenAt = now()
  for (const holder of holders)
    await crew.until(`${holder.name} sees its loss`, () =>
      holder.losses.some((loss) => tokens.includes(loss.token)),
    )
  server.thaw()
  return { tokens, frozenAt }
}
