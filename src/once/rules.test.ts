import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import {
  type Change,
  decideAcquire,
  decideFinish,
  decideRefresh,
  decideRelease,
  type LockedJob,
} from './rules.ts'

const NEW: LockedJob = {
  finished: false,
  owner: null,
  expiresAt: null,
  updatedAt: 0,
  token: 0,
  fingerprint: null,
  keptUntil: null,
  attempts: 0,
}
const request = { owner: 'a', ttlMs: 100 }
const held = { ...NEW, owner: 'b', token: 7, attempts: 1 }

describe('the rules', () => {
  it('grant a free or expired job, and refuse a finished or locked one', () => {
    expect(decideAcquire({ ...NEW, finished: true }, request, 0).answer).toMatchObject({
      reason: 'already_finished',
    })
    expect(decideAcquire(NEW, request, 0).answer).toMatchObject({ granted: true })
    expect(decideAcquire({ ...held, expiresAt: 10 }, request, 10).answer).toMatchObject({ granted: true })
    expect(decideAcquire({ ...held, expiresAt: 11 }, request, 10).answer).toMatchObject({
      reason: 'locked',
      remaining: 1,
    })
    expect(decideAcquire({ ...held, expiresAt: null }, request, 10).answer).toMatchObject({ granted: true })
  })

  it('the rules keep a lock with an unreadable expiry live for a TTL after the last change', () => {
    const unreadable = { ...held, expiresAt: Number.NaN, updatedAt: 50 }
    expect(decideAcquire(unreadable, request, 149).answer).toMatchObject({ reason: 'locked' })
    expect(decideAcquire(unreadable, request, 150).answer).toMatchObject({ granted: true })
    const unknown = { ...unreadable, updatedAt: null }
    expect(decideAcquire(unknown, request, 5)).toMatchObject({
      answer: { reason: 'locked' },
      change: { heartbeatAt: 5 },
    })
  })

  it('the rules do not take the outcome of another worker for the holder’s own', () => {
    const holder = { owner: 'b', token: 7 }
    const finish = (job: LockedJob) => decideFinish(job, holder, { result: 1 }, 0).answer
    expect(finish({ ...held, owner: null, finished: true })).toBe(true)
    expect(finish({ ...held, finished: true, expiresAt: 10 })).toBe(false)
    expect(finish({ ...held, owner: null, finished: true, token: 8 })).toBe(false)
  })
})

type Step =
  | { readonly type: 'acquire' | 'refresh' | 'release' | 'finish'; readonly owner: string }
  | { readonly type: 'pass'; readonly ms: number }

const owner = fc.constantFrom('a', 'b', 'c')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constantFrom('acquire', 'acquire', 'refresh', 'release', 'finish'), owner }),
  fc.record({ type: fc.constant('pass'), ms: fc.integer({ min: -30, max: 150 }) }),
)

describe('in any order of calls, even if the clock steps back', () => {
  it('tokens rise, and one worker finishes, with the token of the latest grant', () => {
    checkProperty(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let job = NEW
        let now = 1000
        let last = 0
        const tokens = new Map<string, number>()
        for (const next of steps) {
          if (next.type === 'pass') now += next.ms
          else run(next)
        }

        function run({ type, owner: who }: Exclude<Step, { type: 'pass' }>): void {
          const before = job
          if (type === 'acquire') {
            const { answer, change } = decideAcquire(job, { owner: who, ttlMs: 100, maxAttempts: 9 }, now)
            apply(change)
            if (!answer.granted) return
            const live = before.owner !== null && (before.expiresAt ?? 0) > now
            if (live) expect([before.owner, answer.token]).toEqual([who, last])
            else expect(answer.token).toBeGreaterThan(last)
            expect(before.finished).toBe(false)
            last = answer.token
            tokens.set(who, answer.token)
          } else if (type === 'finish') {
            const token = tokens.get(who) ?? 0
            const { answer, change } = decideFinish(job, { owner: who, token }, { result: null }, now)
            apply(change)
            if (change) expect([before.owner, token, before.finished]).toEqual([who, last, false])
            if (answer) expect(job.finished).toBe(true)
          } else {
            const { answer, change } =
              type === 'refresh' ? decideRefresh(job, who, 100, now) : decideRelease(job, who)
            apply(change)
            if (answer) expect(before.owner).toBe(who)
            else expect(job).toBe(before)
          }
        }

        function apply(change?: Change): void {
          if (!change) return
          const { outcome, heartbeatAt: _, ...rest } = change
          job = { ...job, ...rest, finished: job.finished || outcome !== undefined }
        }
      }),
    )
  })
})
