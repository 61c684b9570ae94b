/**
 * What a case asked of its stores and what it was answered, so that a failure can be understood without the code of
 * the suite.
 */

import type { Ask, LeaseRecord, LeaseStore } from '../../core/index.ts'
import { TRANSCRIPT_LINES } from '../options.ts'

export class Transcript {
  readonly #lines: (() => string)[] = []

  /** The store, with its calls noted under this name. */
  of(name: string, store: LeaseStore): LeaseStore {
    // Not a proxy of the store itself: that may be frozen.
    return new Proxy({} as LeaseStore, {
      has: (_, key) => key in store,
      get: (_, key) => {
        const value: unknown = Reflect.get(store, key)
        if (typeof value !== 'function') return value
        const method = value.bind(store)
        return typeof key === 'symbol'
          ? method
          : (...args: unknown[]) => this.#call(`${name}.${key}`, method, args)
      },
    })
  }

  /** The failure of a case, with the calls that led to it. */
  failure(error: unknown): Error {
    const message = error instanceof Error ? error.message : String(error)
    const calls = this.#lines.map((line) => `  ${line()}`)
    return new Error([message, '', 'The calls of this case, the latest last:', ...calls].join('\n'), {
      cause: error,
    })
  }

  #call(name: string, method: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    const call = () => `${name}(${args.slice(0, 1).map(show).join('')})`
    const answer = method(...args.map((arg) => this.#overhear(name, arg)))
    if (!(answer instanceof Promise)) return answer
    return answer.then(
      (value) => {
        this.#note(() => `${call()} → ${show(value)}`)
        return value
      },
      (error) => {
        this.#note(() => `${call()} ✗ ${error}`)
        throw error
      },
    )
  }

  /** Notes when the store calls back. */
  #overhear(name: string, arg: unknown): unknown {
    const told =
      <A extends unknown[]>(what: string, listener: (...values: A) => void) =>
      (...values: A) => {
        this.#note(() => `${name} calls ${what}(${values.map(show).join(', ')})`)
        return listener(...values)
      }
    if (typeof arg === 'function') return told('its listener', arg as () => void)
    const { id, wake, lost } = (arg ?? {}) as Partial<Ask>
    if (!wake && !lost) return arg
    return {
      ...(arg as Ask),
      ...(wake && { wake: told(`wake of ${brief(id)}`, wake) }),
      ...(lost && { lost: told(`lost of ${brief(id)}`, lost) }),
    }
  }

  #note(line: () => string): void {
    this.#lines.push(line)
    if (this.#lines.length > TRANSCRIPT_LINES) this.#lines.shift()
  }
}

function show(value: unknown): string {
  if (value === undefined) return 'done'
  if (value !== null && typeof value === 'object' && Symbol.asyncDispose in value) return 'a watch'
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (inner === Infinity) return 'Infinity'
    return isLease(inner) ? briefLease(inner) : inner
  })
  return brief((text ?? String(value)).replace(/"(\w+)":/g, ' $1: ')).slice(0, 500)
}

function isLease(value: unknown): value is LeaseRecord {
  return value !== null && typeof value === 'object' && 'token' in value && 'state' in value
}

function briefLease({ resource, id, token, share, state, remaining }: LeaseRecord) {
  return { resource, id, token, state, remaining, ...(share !== null && { share }) }
}

/** Ids without their random part. */
function brief(text = ''): string {
  return text.replaceAll(/-[\da-f]{8}-[\da-f-]{27}/g, '')
}
