import { describe, expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import type { LockError, ProjectLockEvent } from './index.ts'

type Bed = ReturnType<typeof projectBed>
type Row = readonly [
  type: ProjectLockEvent['type'],
  /** 主な発火条件 */
  when: string,
  happen: (bed: Bed, locks: ReturnType<Bed['openTab']>['locks']) => Promise<unknown>,
  /** 必須フィールド, and `retryable` where the event has it. */
  fields: object,
]

const lease = {
  ...{ id: expect.any(String), backend: 'fallback', scope: 'autosave' },
  ...{ acquiredAt: expect.any(Number), ttlExpiresAt: expect.any(Number) },
}
const putLive = ({ clock, files }: Bed) =>
  files.put(
    'project/.lock',
    JSON.stringify({ autosave: { id: 'another', ttlExpiresAt: clock.now() + 30_000, mtime: clock.now() } }),
  )

// Each test is a row of the table: an event, when it is sent, and the fields that it must have.
const TABLE: readonly Row[] = [
  [
    'lock:attempt',
    'Web Lock / Renew の開始',
    ({ finished }, locks) => finished(locks.acquireProjectLock()),
    { operation: 'acquire', strategy: 'fallback', retry: 0 },
  ],
  [
    'lock:waiting',
    'バックオフ待機時',
    (bed, locks) => {
      putLive(bed)
      return bed.finished(locks.acquireProjectLock().catch(() => {}))
    },
    { retry: 1, delayMs: 500 },
  ],
  [
    'lock:fallback-engaged',
    'Web Lock 不可→フォールバック移行',
    ({ finished }, locks) => finished(locks.acquireProjectLock()),
    { lease },
  ],
  [
    'lock:warning',
    '心拍遅延',
    async ({ clock, files, finished }, locks) => {
      await finished(locks.acquireProjectLock())
      // The heartbeats do not return.
      files.refuse = () => new Promise(() => {})
      await clock.advance(21_000)
      files.refuse = () => {}
    },
    { warning: 'heartbeat-delayed', detail: expect.any(String), lease },
  ],
  [
    'lock:warning',
    'フォールバック遅延',
    async ({ clock, files, finished }, locks) => {
      files.refuse = async (operation) => {
        if (operation === 'close') await new Promise<void>((resolve) => clock.setTimer(resolve, 1500))
      }
      await finished(locks.acquireProjectLock())
    },
    { warning: 'fallback-delayed', detail: expect.any(String), lease },
  ],
  ['lock:acquired', '取得成功', ({ finished }, locks) => finished(locks.acquireProjectLock()), { lease }],
  [
    'lock:renew-scheduled',
    '心拍予約',
    ({ finished }, locks) => finished(locks.acquireProjectLock()),
    { lease, nextHeartbeatInMs: 10_000 },
  ],
  [
    'lock:renewed',
    '心拍成功',
    async ({ clock, finished }, locks) => {
      await finished(locks.acquireProjectLock())
      await clock.advance(10_000)
    },
    { lease },
  ],
  [
    'lock:release-requested',
    '解放開始',
    async ({ finished }, locks) =>
      finished(locks.releaseProjectLock(await finished(locks.acquireProjectLock()))),
    { lease },
  ],
  [
    'lock:released',
    '解放完了',
    async ({ finished }, locks) =>
      finished(locks.releaseProjectLock(await finished(locks.acquireProjectLock()))),
    { leaseId: expect.any(String) },
  ],
  [
    'lock:error',
    'Acquire の失敗',
    (bed, locks) => {
      putLive(bed)
      return bed.finished(locks.acquireProjectLock().catch(() => {}))
    },
    { operation: 'acquire', error: expect.objectContaining({ code: 'lock-unavailable' }), retryable: false },
  ],
  [
    'lock:error',
    'Renew の失敗',
    async ({ clock, finished, refuse }, locks) => {
      await finished(locks.acquireProjectLock())
      refuse('write', 'InvalidStateError')
      await clock.advance(20_000)
    },
    { operation: 'renew', error: expect.objectContaining({ code: 'lock-renewal-failed' }), retryable: true },
  ],
  [
    'lock:error',
    'Release の失敗',
    async ({ finished, refuse }, locks) => {
      const held = await finished(locks.acquireProjectLock())
      refuse('remove', 'NotAllowedError')
      await finished(locks.releaseProjectLock(held))
    },
    {
      operation: 'release',
      error: expect.objectContaining({ code: 'lock-release-failed' }),
      retryable: true,
    },
  ],
  [
    'lock:readonly-entered',
    '再試行不可',
    (bed, locks) => {
      putLive(bed)
      return bed.finished(locks.acquireProjectLock().catch(() => {}))
    },
    {
      reason: 'acquire-failed',
      lastError: expect.objectContaining<Partial<LockError>>({ retryable: false }),
    },
  ],
  [
    'lock:readonly-entered',
    'TTL 超過',
    async ({ clock, files, finished }, locks) => {
      await finished(locks.acquireProjectLock())
      files.refuse = () => new Promise(() => {})
      await clock.advance(31_000)
      files.refuse = () => {}
    },
    { reason: 'lease-expired', lastError: expect.objectContaining<Partial<LockError>>({ retryable: false }) },
  ],
]

describe('AutoSave Locks API ブループリント §2 イベントペイロード', () => {
  it.each(TABLE)('%s（%s）', async (type, _, happen, fields) => {
    const bed = projectBed()
    const { locks, events } = bed.openTab({ locks: null })
    await happen(bed, locks)
    const found = events.filter((event) => event.type === type)
    const base = {
      at: expect.any(Number),
      leaseId: expect.any(String),
      backend: 'fallback',
      scope: 'autosave',
    }
    expect(found).toContainEqual(expect.objectContaining({ ...base, ...fields }))
  })

  it('lock:attempt（Renew の開始）: the operation is renew', async () => {
    const { clock, finished, openTab } = projectBed()
    const { locks, events } = openTab({ locks: null })
    await finished(locks.acquireProjectLock())
    await clock.advance(10_000)
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'lock:attempt', operation: 'renew', retry: 0 }),
    )
  })
})
