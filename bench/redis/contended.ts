import { compareDrains } from '../contention/drain.ts'
import { FLOOR, LEASES, rivalNames } from './rivals.ts'

export function benchContended(url: string): Promise<void> {
  return compareDrains({
    title: 'Redis',
    url,
    rivals: new URL('./rivals.ts', import.meta.url).href,
    names: rivalNames,
    roundsOf: (name) => (name === LEASES || name === FLOOR ? 8 : 1),
  })
}
