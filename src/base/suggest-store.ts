import { backendOf } from './backend-of.ts'

/** The call that makes a store of what was given instead of one, for a message. */
export function suggestStore(value: unknown): string {
  const backend = backendOf(value)
  if (!backend) return 'memoryStore()'
  return `${backend}Store(${typeof value === 'string' ? '…' : 'client'}) of holdfast/${backend}`
}
