import { checkResource } from '../base/resource-name.ts'
import { LeaseError } from '../core/index.ts'

/** A year: far beyond any job, and dates this side of it can be written in every backend. */
const MAX_TTL_MS = 366 * 86_400_000

export function expectName(option: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') refuse(option, 'a non-empty string', name)
}

/** Unlike the name of a resource, an id is used as it was given: it is the key of somebody's record. */
export function expectId(id: string): void {
  checkResource(id)
}

export function expectTtl(ttlMs: number): void {
  if (!(ttlMs > 0 && ttlMs <= MAX_TTL_MS)) refuse('ttl', 'milliseconds above 0, up to a year', ttlMs)
}

export function expectAttempts(maxAttempts: number | undefined): void {
  if (maxAttempts !== undefined && !(Number.isInteger(maxAttempts) && maxAttempts > 0))
    refuse('maxAttempts', 'a whole number from 1', maxAttempts)
}

export function expectSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    refuse('signal', 'an AbortSignal', signal)
}

export function expectCallback(option: string, callback: unknown): void {
  if (callback !== undefined && typeof callback !== 'function') refuse(option, 'a function', callback)
}

/** Of an id that a store cannot keep. Names the job, so that nobody takes it for a wrong option. */
export function refuseId(id: string, expected: string): never {
  throw new LeaseError('invalid-argument', `id: expected ${expected}, got ${show(id)}`, { resource: id })
}

export function refuse(option: string, expected: string, value: unknown): never {
  throw new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${show(value)}`)
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  if (typeof value === 'function') return 'a function'
  return Object(value) === value ? 'an object' : String(value)
}

export function notFound(id: string): LeaseError {
  return new LeaseError('not-found', `there is no job ${id}`, { resource: id })
}
