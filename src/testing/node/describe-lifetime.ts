import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expectOptions, type Known } from '../../base/arguments.ts'
import { type Duration, expectTtl } from '../../base/duration.ts'
import { check } from '../conformance/check.ts'
import { ALIVE_LIMIT_MS, LIFETIME_DEFAULTS } from '../options.ts'
import { caseTimeoutMs, runnerOf, type TestRunner } from '../runner.ts'
import { fileBeside } from './crew.ts'
import { ALIVE_EXIT_CODE, type LifetimeStep } from './lifetime-limits.ts'

export interface LifetimeOptions {
  /** The module that each process loads: its URL or its path. It exports `openStore(address)`: see `OpenStore`. */
  readonly module: URL | string
  /** What `openStore` gets. The directory is empty, and new for each case. */
  readonly address: (directory: string) => string
  /** Of the leases. Default 500 ms. */
  readonly ttl?: Duration | undefined
  /** The test runner's functions. Default: the global ones. */
  readonly runner?: TestRunner | undefined
}

export const LIFETIME_OPTIONS: Known<LifetimeOptions> = { module: 1, address: 1, ttl: 1, runner: 1 }

/** What Node says of a process whose top-level `await` nothing will ever settle. */
const UNSETTLED_EXIT_CODE = 13

/**
 * A store must keep its process alive while a call is under way, and no longer.
 *
 * @example
 * describeLifetime('mine', { module: new URL('./open-store.ts', import.meta.url), address: () => 'tcp://localhost' })
 */
export function describeLifetime(name: string, options: LifetimeOptions): void {
  expectOptions(options, LIFETIME_OPTIONS)
  runLifetime(name, options)
}

export function runLifetime(name: string, options: LifetimeOptions): void {
  const ttl = lifetimeTtl(options)
  const runner = runnerOf('describeLifetime', options.runner)

  runner.describe(`${name}: the process of a store`, () => {
    test('does not end during `await acquire`, though nothing else keeps it alive', 'acquire', (end) => {
      check(
        end.code !== UNSETTLED_EXIT_CODE,
        `a process stays alive until its \`await acquire\` has an answer, but it ended before, with exit code ${end.code}`,
      )
      check(end.output.includes('granted'), `its acquire is granted, got ${show(end)}`)
    })

    test('ends by itself once the store and its client are closed', 'close', (end) => {
      check(
        end.code !== ALIVE_EXIT_CODE,
        `nothing keeps a process alive after close, but ${ALIVE_LIMIT_MS} ms later there were still: ${end.output}`,
      )
      check(end.code === 0, `it ends with code 0, got ${show(end)}`)
    })
  })

  function test(title: string, step: LifetimeStep, judge: (end: End) => void): void {
    runner.it(
      title,
      async () => {
        const directory = await mkdtemp(join(tmpdir(), 'holdfast-lifetime-'))
        try {
          const address = options.address(directory)
          judge(await endOf([moduleUrl(options), address, basename(directory), String(ttl), step]))
        } finally {
          await rm(directory, { recursive: true })
        }
      },
      caseTimeoutMs(ttl),
    )
  }
}

export function lifetimeTtl({ ttl = LIFETIME_DEFAULTS.ttl }: LifetimeOptions): number {
  return expectTtl(ttl)
}

export function moduleUrl({ module }: LifetimeOptions): string {
  return typeof module === 'string' && !/^(file|data|https?):/.test(module)
    ? pathToFileURL(module).href
    : String(module)
}

interface End {
  readonly code: number | NodeJS.Signals | null
  readonly output: string
}

function endOf(args: readonly string[]): Promise<End> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileBeside('lifetime-child'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        output += data
      })
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code: signal ?? code, output: output.trim() }))
  })
}

function show({ code, output }: End): string {
  return `code ${code} and the output ${JSON.stringify(output)}`
}
