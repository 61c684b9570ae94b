import { compareDrains } from '../contention/drain.ts'
import { rivalNames, VERROU } from './rivals.ts'

export function benchContended(url: string): Promise<void> {
  return compareDrains({
    title: 'MySQL',
    url,
    rivals: new URL('./rivals.ts', import.meta.url).href,
    names: rivalNames,
    roundsOf: (name) => (name === VERROU ? 1 : 6),
  })
}
