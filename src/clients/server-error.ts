import { type LeaseError, messageOf } from '../base/errors.ts'
import { redactText } from '../base/redact.ts'
import { storeError, type Verdict } from './store-error.ts'

/** As `storeError`, for backends with an address: neither the message nor the cause contains its password. */
export function serverError(
  backend: string,
  error: unknown,
  verdict: Verdict,
  resource?: string,
): LeaseError {
  return storeError(backend, withoutPassword(error), verdict, resource, redactText(messageOf(error)))
}

/** `ioredis` attaches the command that failed, with its arguments: of `AUTH` and `HELLO`, the password. */
function withoutPassword(error: unknown): unknown {
  const { command } = Object(error) as { readonly command?: { readonly name?: unknown } }
  if (!(error instanceof Error) || !/^(auth|hello)$/i.test(String(command?.name))) return error
  const copy = new Error(error.message)
  copy.name = error.name
  copy.stack = error.stack ?? copy.message
  return copy
}
