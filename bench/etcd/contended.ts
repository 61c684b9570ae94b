import { compareDrains } from '../contention/drain.ts'
import { POLLED_LOCK, rivalNames } from './rivals.ts'

export function benchContended(url: string): Promise<void> {
  return compareDrains({
    title: 'etcd',
    url,
    rivals: new URL('./rivals.ts', import.meta.url).href,
    names: rivalNames,
    roundsOf: (name) => (name === POLLED_LOCK ? 1 : 6),
  })
}
