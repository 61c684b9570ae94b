import { describe, expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import type { ProjectLockEvent } from '../project/index.ts'

type Named<T extends ProjectLockEvent['type']> = Extract<ProjectLockEvent, { type: T }>

function find<T extends ProjectLockEvent['type']>(events: ProjectLockEvent[], type: T): Named<T> | undefined {
  return events.find((event): event is Named<T> => event.type === type)
}

/** An editor whose browser has no Web Locks. */
function fallbackEditor() {
  const bed = editorBed()
  return { ...bed, editor: bed.openEditor({ tab: bed.openTab({ locks: null }) }) }
}

// Each test is a row of the table: when the event is sent, its main fields, and what AutoSave does with it.
describe('ロック API 設計 §3 イベント購読モデル', () => {
  it('lock:acquired（初回取得）: attempt, backend; awaiting-lock → writing', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    expect(find(editor.tab.events, 'lock:acquired')).toMatchObject({ attempt: 1, backend: 'web' })
    expect(editor.phases().slice(0, 3)).toEqual(['debouncing', 'awaiting-lock', 'writing'])
  })

  it('lock:acquired（フォールバックへ切り替えた瞬間）: backend is fallback', async () => {
    const { editor, save } = fallbackEditor()
    await save(editor, 'one')
    expect(find(editor.tab.events, 'lock:acquired')).toMatchObject({ attempt: 1, backend: 'fallback' })
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', backend: 'fallback' })
  })

  it('lock:renewed（フォールバックの renewProjectLock 成功時）: ttlExpiresAt', async () => {
    const { clock, editor, lockFile, save } = fallbackEditor()
    await save(editor, 'one')
    await clock.advance(10_000)
    const renewed = find(editor.tab.events, 'lock:renewed')
    expect(renewed?.ttlExpiresAt).toBe(lockFile().autosave.ttlExpiresAt)
    expect(editor.autosave.state.phase).toBe('idle')
  })

  it('lock:retry（競合で再試行をスケジュールした時）: attempt, delayMs, reason; awaiting-lock', async () => {
    const { clock, files, editor } = fallbackEditor()
    const record = { id: 'another', ttlExpiresAt: clock.now() + 30_000, mtime: clock.now() }
    files.put('project/.lock', JSON.stringify({ autosave: record }))
    editor.edit('one')
    await clock.advance(600)
    const retry = { attempt: 1, delayMs: 500, reason: 'contended' }
    expect(find(editor.tab.events, 'lock:retry')).toMatchObject(retry)
    expect(editor.autosave.state.phase).toBe('awaiting-lock')
  })

  it('lock:retry（一時エラーで再試行をスケジュールした時）: the reason is transient-error', async () => {
    const { clock, editor, files, refuse, saved } = fallbackEditor()
    refuse('close', 'InvalidStateError')
    editor.edit('one')
    await clock.advance(100)
    expect(find(editor.tab.events, 'lock:retry')).toMatchObject({ reason: 'transient-error' })
    files.refuse = () => {}
    await clock.advance(1500)
    expect(saved()).toBe('one')
  })

  it('lock:error（retryable=false の例外が発生した時）: error.code, error.retryable; ReadOnly', async () => {
    const { clock, editor, refuse } = fallbackEditor()
    refuse('open', 'NotAllowedError')
    editor.edit('one')
    await clock.advance(1000)
    expect(find(editor.tab.events, 'lock:error')?.error).toMatchObject({
      ...{ code: 'lock-unavailable', retryable: false },
    })
    expect(editor.autosave.state).toMatchObject({ phase: 'read-only', readOnly: 'denied', unsaved: true })
  })

  it('lock:cleanup-warning（.lock 削除に失敗した時）: message; collected before the next acquire', async () => {
    const { editor, files, finished, openTab, save } = fallbackEditor()
    files.put('workflow-cookbook/collector.jsonl', '{}')
    await save(editor, 'one')
    files.refuse = (operation, path) => {
      if (operation === 'remove' && path.endsWith('/.lock')) throw new DOMException('no', 'NotAllowedError')
    }
    await finished(editor.autosave.close())
    expect(find(editor.tab.events, 'lock:cleanup-warning')?.message).toContain('.lock was not removed')
    files.refuse = () => {}
    const { locks } = openTab({ locks: null })
    await finished(locks.releaseProjectLock(await finished(locks.acquireProjectLock())))
    expect(files.tree).toEqual({ 'workflow-cookbook/collector.jsonl': '{}' })
  })

  it('lock:released（正常に解放した時）: no fields of its own; idle', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor({ hold: 'save' })
    await save(editor, 'one')
    const released = find(editor.tab.events, 'lock:released')
    expect(Object.keys(released ?? {}).sort()).toEqual(['at', 'backend', 'leaseId', 'scope', 'type'])
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', backend: null })
  })

  it('subscribeLockEvents: several listeners, at in rising order, an idempotent end', async () => {
    const { finished, openTab } = editorBed()
    const { locks, events } = openTab()
    const heard: string[] = []
    const stop = locks.subscribeLockEvents(({ type }) => heard.push(type))
    await finished(locks.withProjectLock(async () => {}))
    expect(heard).toEqual(events.map(({ type }) => type))
    const times = events.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    stop()
    stop()
    await finished(locks.withProjectLock(async () => {}))
    expect(heard.length).toBe(events.length / 2)
  })

  it.each(['succeeds', 'fails'])('withProjectLock that %s ends with lock:released', async (outcome) => {
    const { finished, openTab } = editorBed()
    const { locks, emitted } = openTab()
    const executor = async () => {
      if (outcome === 'fails') throw new Error('no')
    }
    await finished(locks.withProjectLock(executor).catch(() => {}))
    expect(emitted().at(-1)).toBe('released')
  })
})
