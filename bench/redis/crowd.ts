/** A child process with some waiters. It says when all of them stand in line, and what became of them. */
import { type Hold, openRival } from './rivals.ts'

export interface Orders {
  readonly rival: string
  readonly url: string
  readonly waiters: number
}

export type Report =
  | { readonly type: 'waiting' }
  | { readonly type: 'done'; readonly holds: readonly Hold[]; readonly commands: number }

process.once('message', async ({ rival: name, url, waiters }: Orders) => {
  const rival = await openRival(name, url)
  if (!rival) throw new Error(`no rival ${name}`)
  const report = (message: Report) => process.send?.(message)
  let standing = 0
  const onWaiting = () => {
    if (++standing === waiters) report({ type: 'waiting' })
  }
  const holds = await Promise.all(Array.from({ length: waiters }, () => rival.takeTurn(onWaiting)))
  report({ type: 'done', holds, commands: rival.commands })
  await rival.close()
  process.disconnect()
})
