import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'

describe('a request whose process is killed while its handler runs', () => {
  let directory: string
  let children: ChildProcess[]
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-idempotency-'))
    children = []
  })
  afterEach(async () => {
    await Promise.all(children.map(kill))
    await rm(directory, { recursive: true })
  })

  async function start(ttl: number) {
    const path = join(import.meta.dirname, '../idempotency/server-process.ts')
    const child = fork(path, [`sqlite:${join(directory, 'jobs.db')}`, String(ttl)], { execArgv: [] })
    children.push(child)
    const died = once(child, 'exit').then(() => Promise.reject(new Error('the server has ended')))
    const [{ port }] = (await Promise.race([once(child, 'message'), died])) as [{ port: number }]
    died.catch(() => {})
    const post = () =>
      fetch(`http://127.0.0.1:${port}/charges`, { method: 'POST', headers: { 'idempotency-key': '"k"' } })
    return { child, post }
  }

  /** Two servers. The first one has begun the request, and is dead. */
  async function afterDeath(ttl: number) {
    // One after the other: SQLite refuses two that switch a new file to WAL at once.
    const first = await start(ttl)
    const second = await start(ttl)
    const begun = once(first.child, 'message')
    const lost = first.post().catch((error) => error)
    const [message] = await begun
    expect(message).toEqual({ attempt: 1 })
    await kill(first.child)
    expect(await lost).toBeInstanceOf(TypeError)
    return second
  }

  it('a request whose process is killed while its handler runs is 409 at another process until the TTL of its key is over', async () => {
    const { post } = await afterDeath(600_000)
    const refused = await post()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([409, '1'])
  })

  it('a request whose process is killed while its handler runs is carried out by another process when the TTL of its key is over', async () => {
    const { post } = await afterDeath(3000)
    await eventually(async () => expect((await post()).status).toBe(201))
    const replay = await post()
    expect([replay.headers.get('idempotent-replayed'), await replay.json()]).toEqual(['true', { attempt: 2 }])
  })
})

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
