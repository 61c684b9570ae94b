/** A child process with some waiters. It says when all of them stand in line, and what became of them. */
import type { Hold, Membership, OpenRival } from './rival.ts'

export interface Orders extends Membership {
  /** The module that has the rivals. */
  readonly rivals: string
  readonly name: string
  readonly waiters: number
}

export type Report =
  | { readonly type: 'waiting' }
  | { readonly type: 'done'; readonly holds: readonly Hold[]; readonly calls: number | null }

process.once('message', async ({ rivals, name, waiters, ...membership }: Orders) => {
  const { openRival } = (await import(rivals)) as { openRival: OpenRival }
  const rival = await openRival(name, membership)
  if (!rival) throw new Error(`no rival ${name}`)
  const report = (message: Report) => process.send?.(message)
  let standing = 0
  const onWaiting = () => {
    if (++standing === waiters) report({ type: 'waiting' })
  }
  const holds = await Promise.all(Array.from({ length: waiters }, () => rival.takeTurn(onWaiting)))
  report({ type: 'done', holds, calls: rival.calls })
  await rival.close()
  process.disconnect()
})
