import { expectFunction, expectOneOf } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { stackOf } from '../base/error-stack.ts'
import { messageOf } from '../base/errors.ts'
import { redactText } from '../base/redact.ts'
import type { Settings } from '../configuration/settings.ts'

export type LogLevel = Exclude<Settings['logLevel'], 'silent'>
/** Called once for each event. The fields contain no secrets: no cookies, tokens, contents or lease ids. */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void

const LEVELS: readonly Settings['logLevel'][] = ['debug', 'info', 'warn', 'error', 'silent']

/**
 * Writes one line of JSON for each event from this level on.
 *
 * @example
 * const log = jsonLog((line) => process.stdout.write(`${line}\n`), 'info', systemClock)
 * log('info', 'started', { port: 4321 })
 */
export function jsonLog(write: (line: string) => void, from: Settings['logLevel'], clock: Clock): Log {
  expectFunction('write', write)
  expectOneOf('from', from, LEVELS)
  const threshold = LEVELS.indexOf(from)
  return (level, message, fields) => {
    if (LEVELS.indexOf(level) < threshold) return
    write(JSON.stringify({ at: new Date(clock.now()).toISOString(), level, message, ...fields }))
  }
}

/** Whatever was thrown, as fields of the log. */
export function errorFields(error: unknown, withStack = false): { error: string; stack?: string } {
  if (!(error instanceof Error)) return { error: redactText(messageOf(error)) }
  const text = redactText(`${error.name}: ${error.message}`)
  return { error: text, ...(withStack && { stack: stackOf(error) }) }
}
