/** `npm start`: runs the server with its dashboard and demo editor on a SQLite file. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { root, runTool } from './run-tool.ts'

const DATA = join(root, '.holdfast')
const HOST = '127.0.0.1'
const { HOLDFAST_PORT: FIRST_PORT = '4321' } = process.env

if (!isBuilt()) {
  console.log('Building Holdfast. This takes a few seconds.')
  if ((await runTool('node', 'scripts/build.ts')) !== 0) process.exit(1)
}
mkdirSync(DATA, { recursive: true })
const token = adminToken()
const port = await freePort(Number(FIRST_PORT))
const server = spawn(
  process.execPath,
  ['dist/cli/main.js', 'serve', '--host', HOST, '--port', String(port), '--log-level', 'warn'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      // Short enough to watch a lock run out.
      HOLDFAST_TTL: '15s',
      HOLDFAST_HEARTBEAT: '5s',
      ...process.env,
      HOLDFAST_STORE: `sqlite:${join(DATA, 'holdfast.db')}`,
      HOLDFAST_ADMIN_TOKENS: token,
    },
  },
)
// The server finishes its requests after a signal, and this process ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill(signal))
server.on('close', (code) => process.exit(code ?? 1))

const url = `http://${HOST}:${port}`
await ready(`${url}/readyz`)
console.log(`
Holdfast is running.

  Start here ${url}/
             It shows the editor in three steps.
  Dashboard  ${url}/dashboard#token=${token}

Locks and texts are kept in .holdfast/. Ctrl-C stops the server.
`)

function isBuilt(): boolean {
  const pages = join(root, 'dist/web/index.html')
  if (!existsSync(pages)) return false
  const built = statSync(pages).mtimeMs
  const sources = globSync(['src/**/*.*', 'web/**/*.*', 'package-lock.json'], { cwd: root })
  return sources.every((source) => statSync(join(root, source)).mtimeMs <= built)
}

/** Created at the first start. If two run at the same time, both use the token of one of them. */
function adminToken(): string {
  const file = join(DATA, 'admin-token')
  try {
    writeFileSync(file, randomBytes(24).toString('base64url'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(file, 'utf8')
}

/** The first free port from this one. */
async function freePort(from: number): Promise<number> {
  const probe = createServer().listen(from, HOST)
  try {
    await once(probe, 'listening')
  } catch {
    return freePort(from + 1)
  }
  probe.close()
  await once(probe, 'close')
  return from
}

async function ready(address: string): Promise<void> {
  for (;;) {
    const answer = await fetch(address).catch(() => null)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
