import { show } from '../../base/arguments.ts'
import { LeaseError } from '../../core/index.ts'

export function refuse(option: string, expected: string, value: unknown, describe = show): never {
  throw new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${describe(value)}`)
}
