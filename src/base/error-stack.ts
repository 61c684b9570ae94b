import { messageOf } from './errors.ts'
import { redactText } from './redact.ts'

/**
 * The stacks of an error and of its causes, for a log. Other properties of errors are left out: that of a client of
 * Redis has the password in its `command`, that of a URL the whole address in its `input`.
 */
export function stackOf(error: unknown): string {
  const stack = error instanceof Error && error.stack ? error.stack : messageOf(error)
  const { cause } = Object(error) as { readonly cause?: unknown }
  return redactText(stack) + (cause instanceof Error ? `\ncaused by: ${stackOf(cause)}` : '')
}
