/** Tells the operator about something that works, but should be changed. On Node it is a `HoldfastWarning`. */
export function warn(message: string): void {
  const { process } = globalThis as { process?: { emitWarning?(message: string, name: string): void } }
  if (process?.emitWarning) process.emitWarning(message, 'HoldfastWarning')
  else console.warn(`HoldfastWarning: ${message}`)
}

const warned = new Set<string>()

/** For names that are kept for older programs: one warning per process is enough. */
export function warnOnce(message: string): void {
  if (warned.has(message)) return
  warned.add(message)
  warn(message)
}
