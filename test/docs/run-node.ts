import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { eventually } from '../eventually.ts'
import { Program } from './program.ts'
import type { PlacedBlock, Sandbox } from './sandbox.ts'
import { HOLDFAST_PORT } from './servers.ts'

/**
 * Runs a block in Node or in a shell, as its page says. Resolves with what it has printed. Throws if it does not do what
 * CONTRIBUTING.md promises.
 */
export async function runInNode(placed: PlacedBlock, sandbox: Sandbox): Promise<string> {
  return besideItsServer(placed, sandbox, (environment) => runAlone(placed, environment))
}

/** Runs a block while the server that its page has shown before is up. */
export async function besideItsServer<T>(
  placed: PlacedBlock,
  sandbox: Sandbox,
  run: (environment: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  const environment = await sandbox.environmentFor(placed)
  const { server } = placed
  if (!server) return run(environment)
  const running = start(server, environment)
  try {
    // The program of the server writes this file when it listens.
    const { HOLDFAST_DOCS_PORTS: ports = '' } = environment
    const port = join(ports, String(HOLDFAST_PORT))
    await running.until(() => existsSync(port))
    await answersRequests(readFileSync(port, 'utf8'))
    return await run(environment)
  } finally {
    await running.kill()
  }
}

/** A server that starts listens already, and answers 503 to everything. */
async function answersRequests(port: string): Promise<void> {
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).not.toBe(503))
}

async function runAlone(placed: PlacedBlock, environment: NodeJS.ProcessEnv): Promise<string> {
  const { role, language, code } = placed.block
  const stays = role === 'serve'
  const program = start(placed, environment)
  if (stays) {
    await program.until(() => isUp(code, program.stdout))
    program.stop()
  }
  const ending = await program.ended
  // A program without a handler is ended by the signal.
  const stopped = stays && !code.includes('SIGTERM') && ending === 'SIGTERM'
  const quiet = language === 'sh' || role === 'test' || program.stderr === ''
  if (language === 'sh') expect(statusesOf(program.stderr)).toEqual(promisedStatuses(code))
  if (quiet && (stopped || ending === 0)) return program.stdout
  const fault = quiet ? '' : ', and nothing may be printed on stderr'
  throw new Error(`it ended with ${ending}${fault}\n${program.stdout}${program.stderr}`)
}

function start({ block, directory, file }: PlacedBlock, environment: NodeJS.ProcessEnv): Program {
  if (block.language === 'sh') return new Program(directory, environment, 'bash', '-e', file)
  if (block.role !== 'test') return new Program(directory, environment, 'node', file)
  return block.code.includes("'node:test'")
    ? new Program(directory, environment, 'node', '--test', file)
    : new Program(directory, environment, 'vitest', 'run', '--root', '.', file)
}

/** A line of its own says that a block is up. The log of a server begins before it listens. */
function isUp(code: string, stdout: string): boolean {
  return code.includes('console.log') ? /^[^{\n].*\n/m.test(stdout) : stdout.includes('\n')
}

/** What the answers to `curl` must have: those of its comments, such as `# 409 already_locked`. */
function promisedStatuses(code: string): string[] {
  return Array.from(code.matchAll(/ # (\d{3})\b/g), ([, status = '']) => status)
}

/** What `curl.sh` has printed. */
function statusesOf(stderr: string): string[] {
  return Array.from(stderr.matchAll(/^status (\d+)$/gm), ([, status = '']) => status)
}
