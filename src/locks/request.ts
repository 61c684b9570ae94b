/** The arguments of `request`, converted and checked as the Web IDL and the Web Locks specification say. */
import { show } from '../base/arguments.ts'
import type { Lock, LockMode } from './types.ts'

/** A request as its caller made it. */
export interface LockRequest {
  readonly name: string
  readonly mode: LockMode
  readonly ifAvailable: boolean
  readonly steal: boolean
  readonly signal: AbortSignal | undefined
  readonly callback: Callback
}

type Callback = (lock: Lock | null) => unknown

/**
 * The second of two arguments is the callback; of more, it is the options. All are converted first, each option once and
 * in alphabetical order. Then what they mean is checked.
 */
export function readRequest(given: unknown, second: unknown, rest: readonly unknown[]): LockRequest {
  const [options, callback] = rest.length > 0 ? [second, rest[0]] : [undefined, second]
  // A template converts as the browser does: it refuses a symbol.
  const name = `${given as string}`
  if (options != null && Object(options) !== options) wrongType('options', 'an object', options)
  const { ifAvailable, mode: givenMode = 'exclusive', signal, steal } = Object(options)
  const mode = `${givenMode}`
  if (mode !== 'exclusive' && mode !== 'shared') wrongType('mode', '"exclusive" or "shared"', mode)
  // Also a signal of another frame.
  if (signal !== undefined && Object.prototype.toString.call(signal) !== '[object AbortSignal]')
    wrongType('signal', 'an AbortSignal', signal)
  if (typeof callback !== 'function') wrongType('callback', 'a function', callback)
  if (name[0] === '-') notSupported('a name cannot begin with "-"')
  if (steal && ifAvailable) notSupported('steal and ifAvailable cannot be combined')
  if (steal && mode === 'shared') notSupported('steal and the mode "shared" cannot be combined')
  if (signal && (steal || ifAvailable)) notSupported('signal cannot be combined with steal or ifAvailable')
  signal?.throwIfAborted()
  return { name, mode, ifAvailable: !!ifAvailable, steal: !!steal, signal, callback: callback as Callback }
}

function wrongType(option: string, expected: string, received: unknown): never {
  throw new TypeError(`${option}: expected ${expected}, got ${show(received)}`)
}

function notSupported(message: string): never {
  throw new DOMException(message, 'NotSupportedError')
}
