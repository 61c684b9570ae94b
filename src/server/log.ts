import type { Settings } from '../configuration/settings.ts'
import type { Clock } from '../core/index.ts'

export type LogLevel = Exclude<Settings['logLevel'], 'silent'>
/** One line, one event. No secrets: no cookies, tokens of callers, contents or lease ids. */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void

const LEVELS: readonly Settings['logLevel'][] = ['debug', 'info', 'warn', 'error', 'silent']

/** One JSON object a line. */
export function jsonLog(write: (line: string) => void, from: Settings['logLevel'], clock: Clock): Log {
  const threshold = LEVELS.indexOf(from)
  return (level, message, fields) => {
    if (LEVELS.indexOf(level) < threshold) return
    write(JSON.stringify({ at: new Date(clock.now()).toISOString(), level, message, ...fields }))
  }
}
