/**
 * One manager holds thousands of leases while the server, or its own process, is stopped by SIGSTOP for a while. None may
 * be lost if the TTL is longer than the pause. `--most 10000` leases, `--pause 6.5` seconds, `--stops client`.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { printTable } from './measure.ts'
import type { Held, Outcome } from './pause/process.ts'
import { next, openSubjects, type Subject } from './pause/subjects.ts'
import type { BenchFlags } from './run.ts'

export async function run({
  stores,
  most = '10000',
  pause = '6.5',
  stops = 'server',
}: BenchFlags): Promise<void> {
  const rows: string[][] = []
  for await (const [name, { address, server }] of openSubjects(stores)) {
    if (!server && stops === 'server') continue
    console.log(`  ${name} …`)
    rows.push([
      name,
      ...(await holdThrough(Number(pause) * 1000, address, most, stops === 'server' && server)),
    ])
  }
  const head = [
    '',
    'acquired, s',
    'lost',
    'failed renewals',
    'late, s',
    'MB before',
    'MB at most',
    'CPU s, idle',
    'CPU s',
  ]
  printTable(`${most} leases of one manager, TTL 30 s, the ${stops} stopped for ${pause} s`, [head, ...rows])
}

/** `server`: what is stopped; `false`: the process of the manager. */
async function holdThrough(
  pauseMs: number,
  address: string,
  count: string,
  server: Subject['server'] | false | undefined,
): Promise<string[]> {
  const child = fork(join(import.meta.dirname, 'pause/process.ts'), [address, count])
  const { acquireMs } = await next<Held>(child)
  if (server) server.freeze()
  else child.kill('SIGSTOP')
  await sleep(pauseMs)
  if (server) server.thaw()
  else child.kill('SIGCONT')
  child.send('over')
  const { lost, failed, lateMs, megabytesBefore, megabytes, idleSeconds, seconds } =
    await next<Outcome>(child)
  return [
    (acquireMs / 1000).toFixed(1),
    String(lost),
    String(failed),
    lateMs === null ? '–' : (lateMs / 1000).toFixed(1),
    megabytesBefore.toFixed(0),
    megabytes.toFixed(0),
    idleSeconds.toFixed(1),
    seconds.toFixed(1),
  ]
}
