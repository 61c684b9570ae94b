/**
 * Which process holds a lease, for stores on this machine. A lease whose process is provably gone is free at once.
 *
 * A record names the host, the boot of its kernel, the namespace of its pids, the pid and the start time of the
 * process: pids are used again, and containers with the same host name have pids of their own. Whatever cannot be
 * compared or read means "not provably gone", and the lease then lives until its TTL ends. Other systems than Linux
 * offer no such proof.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { systemClock } from '../../base/clock.ts'
import type { Answer } from '../../core/index.ts'
import type { LeaseRow, StoredLease } from '../lease-row.ts'
import { ASK_AGAIN_FOR_PROCESS_MS, CHECK_PROCESS_EVERY_MS, MAX_KNOWN_PROCESSES } from './options.ts'

interface ProcessStat {
  readonly state: string
  /** In ticks since the boot. */
  readonly started: string
}

/** When a process was last seen alive, on the monotonic clock; `Infinity`: it is gone, forever. */
const seen = new Map<string, number>()
let own: string | null | undefined

/** The record of this process; `null`: its end could not be proved. */
export function ownProcess(): string | null {
  own ??= describeSelf()
  return own
}

/** The request, with the record of this process if the lease is to end with it. */
export function withProcess<R extends { readonly endsWithProcess?: boolean }>(
  request: R,
): R & { readonly process?: string | null } {
  const { endsWithProcess } = request
  return endsWithProcess === undefined
    ? request
    : { ...request, process: endsWithProcess ? ownProcess() : null }
}

/** The first waiter soon asks again if the process of the holder can be checked, because nobody reports its end. */
export function checkedSoon({ leases }: LeaseRow, answer: Answer): Answer {
  if (answer.granted || answer.place || !leases.some((lease) => isComparable(lease.process))) return answer
  return {
    ...answer,
    retryIn: Math.min(answer.retryIn ?? ASK_AGAIN_FOR_PROCESS_MS, ASK_AGAIN_FOR_PROCESS_MS),
  }
}

/** The lease of a process that has ended has expired. */
export function withoutGoneHolder(lease: StoredLease, now: number): StoredLease {
  if (isGone(lease.process)) lease.expiresAt = Math.min(lease.expiresAt, now)
  return lease
}

/** Whether the process of this record has certainly ended. */
export function isGone(record: string | null | undefined): boolean {
  const self = ownProcess()
  if (!record || record === self || self === null) return false
  const now = systemClock.monotonic()
  const seenAt = seen.get(record) ?? -Infinity
  if (now < seenAt + CHECK_PROCESS_EVERY_MS) return seenAt === Infinity
  const gone = check(record, self)
  if (seen.size >= MAX_KNOWN_PROCESSES) seen.clear()
  seen.set(record, gone ? Infinity : now)
  return gone
}

function isComparable(record: string | null | undefined): boolean {
  const self = ownProcess()
  return !!record && self !== null && record !== self && split(record)[0] === split(self)[0]
}

function check(record: string, self: string): boolean {
  const [place, pid, started] = split(record)
  if (place !== split(self)[0] || !Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    // `EPERM` means that it exists. `/proc` is not asked, because it may hide the processes of other users.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  const stat = readStat(pid)
  return stat !== null && (stat.started !== started || stat.state === 'Z' || stat.state === 'X')
}

/** What must be equal for two processes to know each other's pids, then the pid, then the start time. */
function split(record: string): readonly [place: string, pid: number, started: string] {
  const [place = '', pid, started = ''] = record.split('\n')
  return [place, Number(pid), started]
}

function describeSelf(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const namespace = readlinkSync('/proc/self/ns/pid')
    // In a container, `/proc` may be that of the machine, which knows this process by another pid.
    const pids = /^NSpid:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    const stat = readStat(process.pid)
    if (pids !== String(process.pid) || !stat || !boot || !namespace) return null
    return `${JSON.stringify([hostname(), boot, namespace])}\n${process.pid}\n${stat.started}`
  } catch {
    return null
  }
}

/** `null`: it cannot be read. */
function readStat(pid: number): ProcessStat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // "pid (name) state ppid …", where the name may contain spaces and brackets. The start time is field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, started] = [fields[0], fields[19]]
    return state && started && /^\d+$/.test(started) ? { state, started } : null
  } catch {
    return null
  }
}
