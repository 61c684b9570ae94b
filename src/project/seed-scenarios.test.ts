import { describe, expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import type { LockError } from './index.ts'

describe('ロック API 設計 §4 テスト観点（抜粋）', () => {
  it('Web Lock 正常系: acquire, then release', async () => {
    const { openTab, finished, files } = projectBed()
    const { locks, emitted, events } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    expect(lease).toMatchObject({ backend: 'web', scope: 'autosave', ttlExpiresAt: Infinity })
    await finished(locks.releaseProjectLock(lease))
    expect(emitted()).toEqual(['attempt', 'acquired', 'release-requested', 'released'])
    expect(new Set(events.map((event) => event.leaseId))).toEqual(new Set([lease.id]))
    expect(files.tree).toEqual({})
  })

  it('フォールバック競合: five attempts at a live .lock, then the tab is read-only', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const text = record('another', clock.now() + 30_000, clock.now())
    files.put('project/.lock', text)
    const { locks, events, emitted } = openTab({ locks: null })
    const error: LockError = await finished(locks.acquireProjectLock().catch((error) => error))
    expect(error).toMatchObject({ name: 'LockError', code: 'lock-unavailable', retryable: false })
    expect(error.cause).toMatchObject({ code: 'fallback-conflict' })
    const retries = events.filter((event) => event.type === 'lock:retry')
    expect(retries).toMatchObject(
      [500, 1000, 2000, 4000].map((delayMs, n) => ({ attempt: n + 1, delayMs, reason: 'contended' })),
    )
    expect(emitted().slice(-3)).toEqual(['attempt', 'error', 'readonly-entered'])
    expect(events.at(-2)).toMatchObject({ operation: 'acquire', error, retryable: false })
    expect(files.tree).toEqual({ 'project/.lock': text })
  })

  it('期限更新: a renewal after 20 s extends ttlExpiresAt', async () => {
    const { clock, openTab, finished, lockFile } = projectBed()
    const { locks, events } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    await clock.advance(20_000)
    const renewed = await finished(locks.renewProjectLock(lease))
    expect(renewed).toEqual({ ...lease, ttlExpiresAt: expect.any(Number) })
    expect(renewed.ttlExpiresAt).toBeGreaterThanOrEqual(lease.ttlExpiresAt + 20_000)
    expect(events.findLast((event) => event.type === 'lock:renewed')).toMatchObject({
      ttlExpiresAt: renewed.ttlExpiresAt,
      lease: renewed,
    })
    expect(lockFile().autosave).toMatchObject({ id: lease.id, ttlExpiresAt: renewed.ttlExpiresAt })
  })

  it('クリーンアップ警告: a .lock that cannot be deleted causes warnings, and nothing else is touched', async () => {
    const { files, openTab, finished } = projectBed()
    files.put('workflow-cookbook/collector.jsonl', '{}')
    const { locks, events, emitted } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    files.refuse = (operation, path) => {
      if (operation === 'remove' && path.endsWith('.lock'))
        throw new DOMException('no', 'InvalidModificationError')
    }
    await finished(locks.releaseProjectLock(lease))
    const after = emitted().slice(emitted().indexOf('release-requested'))
    expect(after).toEqual([
      'release-requested',
      'cleanup-warning',
      'cleanup-warning',
      'error',
      'cleanup-warning',
    ])
    expect(events.find((event) => event.type === 'lock:error')).toMatchObject({
      operation: 'release',
      retryable: true,
      error: { code: 'lock-release-failed' },
    })
    expect(Object.keys(files.tree)).toEqual(['workflow-cookbook/collector.jsonl', 'project/.lock'])
    files.refuse = () => {}
    const again = await finished(locks.acquireProjectLock())
    await finished(locks.releaseProjectLock(again))
    expect(files.tree).toEqual({ 'workflow-cookbook/collector.jsonl': '{}' })
  })
})

function record(id: string, ttlExpiresAt: number, mtime: number): string {
  return JSON.stringify({ autosave: { id, ttlExpiresAt, mtime } })
}
