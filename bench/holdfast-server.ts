import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** The token of its leases. */
export const TOKEN = 'lease-token-of-a-bench'
const CLI = join(import.meta.dirname, '../src/cli/main.ts')

/** `holdfast serve` on a SQLite file, with its usual settings. */
export async function startHoldfast(): Promise<{
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const server = spawn(
    process.execPath,
    [CLI, 'serve', '--port', '0', '--store', `sqlite:${join(directory, 'leases.db')}`],
    {
      env: { ...process.env, HOLDFAST_LEASE_TOKENS: TOKEN, HOLDFAST_LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const exited = once(server, 'exit')
  const stop = async () => {
    server.kill()
    await exited
    rmSync(directory, { recursive: true })
  }
  for await (const line of createInterface(server.stderr)) {
    const [, url] = /listening on (http:\S+?),/.exec(line) ?? []
    if (url === undefined) continue
    server.stderr.resume()
    return { url, pid: server.pid ?? 0, stop }
  }
  throw new Error('holdfast serve ended before it listened')
}
