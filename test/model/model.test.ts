import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { verify } from './spin.ts'

const LEASE = join(import.meta.dirname, 'lease.pml')
const DRAFT = join(import.meta.dirname, 'draft.pml')
const STORES = join(import.meta.dirname, '../../src/stores')

describe('in the model of a lease with three clients', () => {
  it.each([
    ['three writers', '1,1,1'],
    ['a writer and two readers', '1,3,3'],
    ['two writers and a reader', '1,1,3'],
    ['users of a semaphore with two permits', '2,2,2'],
  ])('%s keep every rule in every order of their steps', async (_, shares) => {
    const { story, states } = await verify(LEASE, `SHARES=${shares}`)
    expect(story).toBeNull()
    // A model that stops early keeps every rule, too.
    expect(states).toBeGreaterThan(1_000_000)
  })

  it('a late write overwrites that of a successor if the resource does not compare tokens', async () => {
    const { story } = await verify(LEASE, 'WITHOUT_FENCING', 'TAKEOVERS=0')
    expect(withoutNumbers(story)).toEqual([
      'client … is granted the lease with token 1',
      'the lease of client … expires',
      'client … is granted the lease with token 2',
      'the write of client … with token 1 is accepted',
    ])
  })

  it('a dead waiter blocks everybody if reservations do not end', async () => {
    const { story } = await verify(LEASE, 'WITHOUT_LAPSE', 'TAKEOVERS=0')
    expect(withoutNumbers(story)).toContain('client … ends for good')
    expect(story?.at(-1)).toMatch(/waits in the queue$/)
  })

  it('a reader passes a writer that came before it if readers need not wait for their turn', async () => {
    const { story } = await verify(LEASE, 'BARGING', 'SHARES=1,3,3')
    expect(story).toEqual([
      expect.stringMatching(/^client [12] is granted the lease with token 1$/),
      'client 0 waits in the queue',
      expect.stringMatching(/^client [12] is granted the lease with token 2$/),
    ])
  })

  it('two clients hold an exclusive lease if a renewal revives one that has ended', async () => {
    const { story } = await verify(LEASE, 'REVIVING', 'TAKEOVERS=0')
    expect(withoutNumbers(story)).toEqual([
      'client … is granted the lease with token 1',
      'the lease of client … expires',
      'client … is granted the lease with token 2',
      'client … revives its lease',
    ])
  })

  it('the steps have the names of functions of the stores', () => {
    const code = ['lease-row.ts', 'row-queue.ts']
      .map((file) => readFileSync(join(STORES, file), 'utf8'))
      .join()
    const model = readFileSync(LEASE, 'utf8')
    for (const name of ['ask', 'renew', 'release', 'expire', 'grant', 'refuse', 'settle', 'roomIn']) {
      expect(model).toContain(`inline ${name}(`)
      expect(code).toContain(`function ${name}(`)
    }
  })
})

describe('in the model of the saves of one turn', () => {
  it('no late save replaces a text that was confirmed', async () => {
    const { story, states } = await verify(DRAFT)
    expect(story).toBeNull()
    expect(states).toBeGreaterThan(1000)
  })

  it('a late save replaces a newer text if saves have no sequence', async () => {
    const { story } = await verify(DRAFT, 'UNNUMBERED')
    expect(story).toContain('the tab gives up the save of text 1')
    expect(story).toContain('text 2 is confirmed')
    expect(story?.at(-1)).toBe('text 1 is stored')
  })
})

/** Which of three equal clients takes which part is left to Spin. */
function withoutNumbers(story: readonly string[] | null): string[] {
  return (story ?? []).map((line) => line.replace(/client \d/, 'client …'))
}
