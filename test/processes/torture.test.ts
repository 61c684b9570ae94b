/** The torture must notice stores with mistakes that only real processes show. */
import { expect, it } from 'vitest'
import { describeTorture } from '../../src/testing/node/index.ts'
import type { Mistake } from './open-broken.ts'

it.each([
  ['grants twice', 'have one holder at a time', /violations.*began \d+ µs before the end of/],
  ['overtakes', 'have one holder at a time', /violations.*was granted .* before worker-\d+, which waited/],
  ['ends early', 'does not end during', /stays alive until .* but it ended before, with exit code 13/],
  ['ends late', 'ends by itself', /nothing keeps a process alive after close, but .* Timeout/],
] as const)('a store that %s fails', async (mistake: Mistake, title, message) => {
  await expect(caseOf(mistake, title)()).rejects.toThrow(message)
})

it('describeTorture names the hooks that are missing', () => {
  const { skipped } = collect('grants twice')
  expect(skipped).toEqual([
    'are held no longer than their TTL while the server is frozen (needs the hook freeze)',
    'have one holder at a time though the server crashes (needs the hook restart)',
  ])
})

function caseOf(mistake: Mistake, title: string): () => Promise<void> {
  const found = [...collect(mistake).cases].find(([name]) => name.startsWith(title))
  return found?.[1] ?? expect.fail(`no case ${title}`)
}

function collect(mistake: Mistake) {
  const cases = new Map<string, () => Promise<void>>()
  const skipped: string[] = []
  describeTorture('broken', {
    module: new URL('./open-broken.ts', import.meta.url),
    address: (directory) => `${mistake}:${directory}/leases.db`,
    // Long, so that a busy machine still hands over in time for the order to be judged.
    ttl: 5000,
    workers: 3,
    kills: 2,
    runner: {
      describe: (_, body) => body(),
      it: Object.assign((name: string, body: () => Promise<void>) => cases.set(name, body), {
        skip: (name: string) => skipped.push(name),
      }),
    },
  })
  return { cases, skipped }
}
