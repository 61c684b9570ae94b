import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Server, serverNames, startServer } from '../../scripts/services/index.ts'
import { clients } from './clients.ts'

describe.each(serverNames)('a %s of our own', (name) => {
  const { write, read } = clients[name]
  let server: Server
  beforeAll(async () => {
    server = await startServer(name)
  })
  afterAll(() => server.stop())

  it('keeps its address and what it acknowledged through a crash', async () => {
    await write(server.address)
    await server.restart()
    expect(await read(server.address)).toBe(true)
  })

  it('answers nothing while it is frozen, and then goes on', async () => {
    server.freeze()
    let answer = Promise.resolve(false)
    const ask = () => {
      answer = read(server.address)
      return Promise.race([answer, sleep(300, 'nothing')])
    }
    // A signal reaches all threads of a process in a moment, not at once.
    await expect.poll(ask).toBe('nothing')
    server.thaw()
    expect(await answer).toBe(true)
  })
})

describe('a process in the care of a keeper', () => {
  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
    'ends, and its directory goes, when its owner gets a %s',
    async (signal) => {
      const owner = fork(join(import.meta.dirname, 'owner.ts'), { execArgv: [] })
      const [{ pid, directory }] = await once(owner, 'message')
      expect(isAlive(pid) && existsSync(directory)).toBe(true)
      process.kill(pid, 'SIGSTOP')
      owner.kill(signal)
      await expect.poll(() => isAlive(pid) || existsSync(directory)).toBe(false)
    },
  )
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
