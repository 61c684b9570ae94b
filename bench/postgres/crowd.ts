/** A child process with some waiters. Told to begin, it says when all of them stand in line, and what became of them. */
import type { Hold } from './hold.ts'
import { rivals } from './rivals.ts'

export interface Orders {
  readonly rival: string
  readonly url: string
  readonly member: number
  readonly members: number
  readonly waiters: number
}

export type Report =
  | { readonly type: 'waiting' }
  | { readonly type: 'done'; readonly holds: readonly Hold[]; readonly calls: number }

process.once('message', async ({ rival: name, waiters, ...membership }: Orders) => {
  const rival = await rivals[name]?.(membership)
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
