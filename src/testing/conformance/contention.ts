import type { LeaseStore } from '../../core/index.ts'
import { createLeases } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import { asking, type Case, PATIENT } from './case.ts'
import { check, checkEqual } from './check.ts'

export const contentionCases: readonly Case[] = [
  {
    title: 'grants one of fifty that ask at once',
    async run({ store, peer }) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => (n % 2 ? store : peer).acquire(asking('rush'), PATIENT)),
      )
      checkEqual(
        answers.filter((answer) => answer.granted).length,
        1,
        'how many of fifty requests at once were granted',
      )
    },
  },
  {
    title: 'has one holder at a time and rising tokens under contention',
    async run({ store, peer, contention }) {
      const workers = 8
      const last = new Map<string, number>()
      const inside = new Map<string, number>()
      let left = contention
      const work = async (on: LeaseStore, number: number) => {
        while (left > 0) {
          left--
          const resource = `contended-${(left + number) % 3}`
          const ask = asking(resource, { ttl: LONG_MS })
          let answer = await on.acquire(ask, PATIENT)
          while (!answer.granted) {
            await nextTask()
            answer = await on.acquire(ask, PATIENT)
          }
          const { token } = answer.lease
          const other = inside.get(resource)
          check(
            other === undefined,
            `nobody else holds ${resource} while token ${token} does, got token ${other}`,
          )
          const before = last.get(resource) ?? 0
          check(token > before, `the token of ${resource} rises from ${before}, got ${token}`)
          inside.set(resource, token)
          last.set(resource, token)
          await nextTask()
          inside.delete(resource)
          const { ended } = await on.release({ resource, id: ask.id }, PATIENT)
          checkEqual(ended?.token, token, 'the released token')
        }
      }
      await Promise.all(Array.from({ length: workers }, (_, n) => work(n % 2 ? store : peer, n)))
    },
  },
  {
    title: 'serves many waiting managers, each once',
    async run({ store, peer }) {
      const managers = [createLeases(store), createLeases(peer)]
      let inside = 0
      let served = 0
      await Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          managers[n % 2]?.withLease(
            'served',
            async () => {
              check(++inside === 1, `one holder at a time, got ${inside}`)
              await nextTask()
              inside--
              served++
            },
            { wait: LONG_MS },
          ),
        ),
      )
      checkEqual(served, 24, 'those who were served')
      await Promise.all(managers.map((manager) => manager.close()))
    },
  },
]

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
